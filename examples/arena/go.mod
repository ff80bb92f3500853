module github.com/gallop-http/gallop/examples/arena

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	github.com/gallop-http/gallop/grpc v0.0.0-00010101000000-000000000000
	github.com/jackc/pgx/v5 v5.13.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)

replace (
	github.com/gallop-http/gallop => ../../
	github.com/gallop-http/gallop/grpc => ../../grpc
)
