module gateway

// The oldest that Debian 12 has.
go 1.19
