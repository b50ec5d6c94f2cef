//! Acknowledges every write and keeps nothing: a control, deliberately broken. Whatever looks for
//! lost writes has to find all of them here.

use super::{Engine, Session};
use crate::batch::Batch;
use crate::error::Result;

pub struct Null;

impl Engine for Null {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Null))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Session for Null {
    fn get(&mut self, _key: &[u8], _found: &mut dyn FnMut(&[u8])) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self, _batch: &Batch) -> Result<()> {
        Ok(())
    }

    fn count(&mut self) -> Result<u64> {
        Ok(0)
    }

    fn clear(&mut self) -> Result<()> {
        Ok(())
    }
}
