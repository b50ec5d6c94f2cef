module codec

go 1.23.0

require (
	google.golang.org/protobuf v1.36.11
	works v0.0.0
)

replace works => ../go
