module codec

go 1.23.0

require works v0.0.0

replace works => ../go
