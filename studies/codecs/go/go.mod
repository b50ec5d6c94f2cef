module works

go 1.23.0
