//! Loop devices: a file as a disk (loop(4), `linux/loop.h`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Setter, ioctl};

/// Others may take the device that was free a moment ago.
const TRIES: u32 = 20;

const LOOP_CTL_GET_FREE: Opcode = 0x4c82;
/// Since Linux 5.8: file and flags at once, so that no device is ever left without its flags.
const LOOP_CONFIGURE: Opcode = 0x4c0a;
/// The file is let go of when the last user of the device has closed it.
const LO_FLAGS_AUTOCLEAR: u32 = 4;

/// `struct loop_config`. All that isn't named here stays 0.
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl Config {
    fn of(file: &File) -> Config {
        let info = Info {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: LO_FLAGS_AUTOCLEAR,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        };
        Config { fd: file.as_raw_fd() as u32, block_size: 0, info, reserved: [0; 8] }
    }
}

/// Asks for the number of a device that nobody uses.
struct GetFree;

// SAFETY: it takes no argument, and gives the number as its result.
unsafe impl Ioctl for GetFree {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut rustix::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        number: IoctlOutput,
        _: *mut rustix::ffi::c_void,
    ) -> rustix::io::Result<u32> {
        Ok(number as u32)
    }
}

/// A loop device. It lets go of its file when this is dropped and it is mounted nowhere.
#[derive(Debug)]
pub struct LoopDevice {
    /// Where it is: `/dev/loop7`.
    pub path: PathBuf,
    _open: File,
}

impl LoopDevice {
    /// A device whose content is this file's.
    ///
    /// # Errors
    /// What the kernel doesn't allow, for people.
    pub fn of(file: &File) -> Result<LoopDevice, String> {
        let open = |path: &str| OpenOptions::new().read(true).write(true).open(path);
        let no = |what: &str, error: io::Error| format!("couldn't {what}: {error}");
        let control = open("/dev/loop-control")
            .map_err(|error| no("open /dev/loop-control, which gives loop devices", error))?;
        for _ in 0..TRIES {
            // SAFETY: the opcode is that of this request, which touches no memory.
            let number = unsafe { ioctl(&control, GetFree) }
                .map_err(|error| no("find a loop device", error.into()))?;
            let path = format!("/dev/loop{number}");
            let device = open(&path).map_err(|error| no(&format!("open {path}"), error))?;
            // SAFETY: the opcode takes a pointer to a `loop_config`, which this is, and keeps
            // none to it.
            let configured =
                unsafe { ioctl(&device, Setter::<LOOP_CONFIGURE, Config>::new(Config::of(file))) };
            match configured {
                Ok(()) => return Ok(LoopDevice { path: path.into(), _open: device }),
                Err(Errno::BUSY) => {}
                Err(error) => return Err(no(&format!("make {path} a disk"), error.into())),
            }
        }
        Err(format!("{TRIES} loop devices were taken by others as soon as they were free"))
    }
}
