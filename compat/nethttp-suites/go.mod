module github.com/gallop-http/gallop/compat/nethttp-suites

go 1.25.0

require (
	connectrpc.com/connect v1.19.1
	github.com/coder/websocket v1.8.15
	github.com/gallop-http/gallop v0.0.0
	github.com/go-chi/chi/v5 v5.5.0
	github.com/gorilla/websocket v1.5.3
	google.golang.org/protobuf v1.36.11
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/gallop-http/gallop => ../..
