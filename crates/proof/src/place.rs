//! Where the server and the client run: a processor for each.

use lab::place::machine;

/// A processor for the server and one for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The server's.
    pub server: usize,
    /// The client's.
    pub client: usize,
}

impl Place {
    /// The first processors of two physical cores. With one core only, both share
    /// it.
    pub fn find() -> Result<Place, String> {
        Place::among(&machine::describe().cores())
    }

    fn among(cores: &[Vec<usize>]) -> Result<Place, String> {
        let mut firsts = cores.iter().filter_map(|core| core.first().copied());
        let server = firsts.next().ok_or("the kernel doesn't tell which processors there are")?;
        Ok(Place { server, client: firsts.next().unwrap_or(server) })
    }

    /// The processors of the `nth` of several experiments side by side. One thread has one processor
    /// and its server the same, so that a pause of it is in the server's record as well; several
    /// threads have all that there are.
    pub fn side_by_side(self, threads: u32, nth: usize) -> Vec<usize> {
        match (threads, nth % 2) {
            (1, 0) => vec![self.client],
            (1, _) => vec![self.server],
            _ => vec![self.server, self.client],
        }
    }

    /// What a reader has to know of it.
    pub fn in_words(&self) -> String {
        if self.server == self.client {
            format!("server and client SHARE processor {}", self.server)
        } else {
            format!("server on processor {}, client on {}", self.server, self.client)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_client_never_share_a_physical_core_where_there_are_two() {
        let place = Place::among(&[vec![0, 2], vec![1, 3]]);
        assert_eq!(place, Ok(Place { server: 0, client: 1 }));
        let siblings_first = Place::among(&[vec![0, 1], vec![2, 3]]);
        assert_eq!(siblings_first, Ok(Place { server: 0, client: 2 }));
    }

    #[test]
    fn one_thread_shares_a_processor_with_its_server_and_both_processors_are_used() {
        let place = Place { server: 0, client: 1 };
        assert_eq!([0, 1].map(|nth| place.side_by_side(1, nth)), [[1], [0]]);
        assert_eq!([0, 1].map(|nth| place.side_by_side(2, nth)), [[0, 1], [0, 1]]);
    }

    #[test]
    fn one_core_is_shared_and_said_so() {
        let place = Place::among(&[vec![0]]).unwrap();
        assert!(place.in_words().contains("SHARE"), "{}", place.in_words());
    }
}
