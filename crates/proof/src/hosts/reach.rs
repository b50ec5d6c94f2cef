//! What leads to the hosts: an sshd on each, a cluster of Slurm, and what takes `kubectl exec`'s
//! words.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use clap::ValueEnum;
use lab::ready::programs;

use super::stage::{self, Daemon, NAMES, SERVER, Stage};

/// One of those.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// `ssh` to an sshd on each host.
    Ssh,
    /// `srun` of a Slurm whose nodes the hosts are.
    Srun,
    /// A stand-in for `kubectl exec`.
    Kubectl,
}

impl By {
    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            By::Ssh => "`ssh`",
            By::Srun => "`srun`",
            By::Kubectl => "`kubectl exec`, a stand-in",
        }
    }

    /// Whether what it says goes over the network that the load goes over.
    pub fn shares_the_network(self) -> bool {
        self != By::Kubectl
    }
}

/// What leads to each host. Dropping it ends what listens there.
pub struct Reach {
    /// Which it is.
    pub by: By,
    words: Vec<Vec<String>>,
    _daemons: Vec<Daemon>,
}

impl Reach {
    /// Sets it up.
    ///
    /// # Errors
    /// Why it can't be had here.
    pub fn open(by: By, stage: &Stage) -> Result<Reach, String> {
        let (words, daemons) = match by {
            By::Ssh => ssh(stage)?,
            By::Srun => slurm(stage)?,
            By::Kubectl => (kubectl(stage)?, Vec::new()),
        };
        Ok(Reach { by, words, _daemons: daemons })
    }

    /// The words that lead to each host, by its name.
    pub fn hosts(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        NAMES.into_iter().zip(self.words.iter().map(Vec::as_slice))
    }

    /// Waits until what came before is over, and all hosts can be reached again.
    pub fn settle(&self) -> Result<(), String> {
        if self.by == By::Srun {
            return all_idle();
        }
        Ok(())
    }
}

/// The program of this name.
fn program(name: &str) -> Result<String, String> {
    let found = programs::find(name).map(|path| path.display().to_string());
    found.ok_or_else(|| format!("{name} is not installed (`setup/install hosts` installs it)"))
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

/// The first host's login says something to each who comes, on standard output.
const CHATTY: &str =
    "ForceCommand echo 'Welcome to c1!'; echo; exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n";
/// Where each sshd listens.
const SSH_PORT: u16 = 2022;

/// An sshd on each host, with a key of its own.
fn ssh(stage: &Stage) -> Result<(Vec<Vec<String>>, Vec<Daemon>), String> {
    let sshd = program("sshd")?;
    program("ssh")?;
    program("ssh-keygen")?;
    let folder = stage::folder("ssh")?.display().to_string();
    stage::folder("sshd")?;
    let key = |name: &str| {
        let path = format!("{folder}/{name}");
        let line = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &path];
        stage::run_words(&line.map(String::from))
    };
    key("user")?;
    let (mut daemons, mut known, mut config) = (Vec::new(), String::new(), String::new());
    for host in &stage.hosts {
        let (name, address) = (host.name, &host.address);
        key(name)?;
        let text = format!(
            "Port {SSH_PORT}\nListenAddress {address}\nHostKey {folder}/{name}\nPidFile none\n\
             AuthorizedKeysFile {folder}/user.pub\nUsePAM no\nPasswordAuthentication no\n\
             PermitRootLogin prohibit-password\nMaxStartups 100\n{}",
            if name == NAMES[0] { CHATTY } else { "" }
        );
        let path = stage::write(&format!("ssh/sshd-{name}"), &text)?;
        daemons.push(host.start(&format!("{sshd} -D -e -f {path}"))?);
        let public = fs::read_to_string(format!("{folder}/{name}.pub"));
        let public = public.map_err(|error| format!("the key of {name}: {error}"))?;
        let _ = write!(known, "[{address}]:{SSH_PORT} {public}");
        let _ = writeln!(config, "Host {name}\nHostName {address}\nPort {SSH_PORT}");
    }
    let known = stage::write("ssh/known", &known)?;
    let _ = write!(
        config,
        "Host *\nUser root\nIdentityFile {folder}/user\nIdentitiesOnly yes\nIdentityAgent none\n\
         UserKnownHostsFile {known}\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n"
    );
    let path = stage::write("ssh/config", &config)?;
    let to =
        |name| words(&format!("ssh -F {path} -T -o BatchMode=yes -o ServerAliveInterval=2 {name}"));
    for name in NAMES {
        let line = format!("{} true", to(name).join(" "));
        let mut last = Ok(());
        stage::until(&format!("{name} is reached by ssh"), || {
            last = stage::run(&line);
            last.is_ok()
        })
        .map_err(|why| format!("{why}: {}", last.err().unwrap_or_default()))?;
    }
    Ok((NAMES.map(to).into(), daemons))
}

/// A Slurm of its own, of which each host is a node. Who may do what isn't tried here: nobody is
/// asked who he is.
fn slurm(stage: &Stage) -> Result<(Vec<Vec<String>>, Vec<Daemon>), String> {
    let (slurmctld, slurmd) = (program("slurmctld")?, program("slurmd")?);
    program("srun")?;
    program("sinfo")?;
    let folder = stage::folder("slurm/state")?;
    let folder = folder.parent().unwrap_or(&folder).display().to_string();
    let cpus = load::allowed_cpus().map_or(1, |cpus| cpus.len());
    let mut text = format!(
        "ClusterName=hosts\nSlurmctldHost=hub({SERVER})\nAuthType=auth/none\nCredType=cred/none\n\
         SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={folder}/state\n\
         SlurmdSpoolDir={folder}/%n\nSlurmctldPidFile={folder}/ctld.pid\n\
         SlurmdPidFile={folder}/%n.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         SwitchType=switch/none\nMpiDefault=none\nSelectType=select/linear\n\
         SchedulerType=sched/builtin\nReturnToService=2\nKillWait=2\n\
         JobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\n"
    );
    for host in &stage.hosts {
        let (name, address) = (host.name, &host.address);
        stage::folder(&format!("slurm/{name}"))?;
        let _ = writeln!(
            text,
            "NodeName={name} NodeAddr={address} NodeHostname={name} CPUs={cpus} State=UNKNOWN"
        );
    }
    let _ = writeln!(
        text,
        "PartitionName=all Nodes={} Default=YES MaxTime=INFINITE State=UP",
        NAMES.join(",")
    );
    let path = stage::write(stage::SLURM_CONF, &text)?;
    let mut daemons =
        vec![Daemon::start(words(&format!("{slurmctld} -D -f {path}")), "slurmctld")?];
    for host in &stage.hosts {
        daemons.push(host.start(&format!("{slurmd} -D -f {path} -N {}", host.name))?);
    }
    all_idle()?;
    let to = |name| words(&format!("srun -Q -u -N1 -n1 -w {name}"));
    Ok((NAMES.map(to).into(), daemons))
}

/// Waits until all nodes have nothing to do.
fn all_idle() -> Result<(), String> {
    let mut said = String::new();
    stage::until("all nodes of Slurm are idle", || {
        let mut sinfo = std::process::Command::new("sinfo");
        sinfo.args(["-h", "-N", "-o", "%n %t"]);
        let Ok(output) = sinfo.output() else { return false };
        said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().filter(|line| line.ends_with(" idle")).count() == NAMES.len()
    })
    .map_err(|why| format!("{why}; sinfo says: {}", said.trim().replace('\n', ", ")))
}

/// What takes the words of `kubectl exec -i POD -- COMMAND`, and enters the host of that name.
fn kubectl(stage: &Stage) -> Result<Vec<Vec<String>>, String> {
    let cases = stage
        .hosts
        .iter()
        .map(|host| format!("{}) exec {} \"$@\" ;;\n", host.name, host.entered().join(" ")));
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2 $4\" = \"exec -i --\" ] || {{ echo \"unknown: $*\" >&2; exit 1; }}\n\
         pod=$3; shift 4\ncase $pod in\n{}esac\necho \"no pod $pod\" >&2; exit 1\n",
        cases.collect::<String>()
    );
    let path = stage::write("bin/kubectl", &script)?;
    let made = fs::set_permissions(&path, fs::Permissions::from_mode(0o755));
    made.map_err(|error| format!("{path}: {error}"))?;
    Ok(NAMES.map(|name| words(&format!("kubectl exec -i {name} --"))).into())
}
