module github.com/gallop-http/gallop/examples

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	github.com/gallop-http/gallop/metrics v0.0.0-00010101000000-000000000000
	github.com/gallop-http/gallop/redisstore v0.0.0-00010101000000-000000000000
	github.com/prometheus/client_golang v1.25.0
	github.com/redis/go-redis/v9 v9.23.0
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/gallop-http/gallop => ../
	github.com/gallop-http/gallop/metrics => ../metrics
	github.com/gallop-http/gallop/redisstore => ../redisstore
)
