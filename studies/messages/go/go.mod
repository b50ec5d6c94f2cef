module messages

// Coroutines, iter.Pull, came with it.
go 1.23.0
