module github.com/gallop-http/gallop/bench/middleware

go 1.26.0

require (
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	github.com/gofiber/fiber/v3 v3.5.0
	github.com/labstack/echo/v4 v4.16.0
	github.com/valyala/fasthttp v1.74.0
	golang.org/x/time v0.15.0
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/gofiber/schema v1.8.3 // indirect
	github.com/gofiber/utils/v2 v2.4.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/labstack/gommon v0.5.0 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	github.com/valyala/fasttemplate v1.2.2 // indirect
	golang.org/x/crypto v0.55.0 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/gallop-http/gallop => ../..
