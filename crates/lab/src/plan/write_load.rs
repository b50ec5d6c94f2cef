//! With how many connections and how large values trials put load on stores: who cuts a store off
//! writes to it alike.

use result::plan::Slot;
use result::setting::VALUE_BYTES;
use serde::{Deserialize, Serialize};

/// How stores are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteLoad {
    /// Connections at once.
    pub connections: u32,
    /// Bytes of a value.
    pub value_bytes: u32,
}

impl WriteLoad {
    /// Those of these trials, each once.
    pub fn of<'a>(slots: impl IntoIterator<Item = &'a Slot>) -> Vec<WriteLoad> {
        let mut loads = Vec::new();
        for setting in slots.into_iter().map(|slot| &slot.setting) {
            let value_bytes = setting.number(VALUE_BYTES).and_then(|it| u32::try_from(it).ok());
            let load = value_bytes
                .map(|value_bytes| WriteLoad { connections: setting.connections(), value_bytes });
            loads.extend(load.filter(|load| !loads.contains(load)));
        }
        loads
    }
}
