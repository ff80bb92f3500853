module github.com/gallop-http/gallop/bench

go 1.25.0

require (
	github.com/andybalholm/brotli v1.2.7
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	github.com/gofiber/fiber/v3 v3.1.0
	github.com/klauspost/compress v1.20.3
	github.com/molecule-man/go-brrr v1.3.1
	github.com/redis/go-redis/v9 v9.17.3
	github.com/valyala/fasthttp v1.74.0
	golang.org/x/perf v0.0.0-20250214215153-c95ad7d5b636
	golang.org/x/sys v0.47.0
)

require (
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/gofiber/schema v1.7.0 // indirect
	github.com/gofiber/utils/v2 v2.0.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/tinylib/msgp v1.6.3 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/gallop-http/gallop => ../

tool golang.org/x/perf/cmd/benchstat
