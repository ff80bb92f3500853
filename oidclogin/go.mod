module github.com/gallop-http/gallop/oidclogin

go 1.26.0

require (
	github.com/coreos/go-oidc/v3 v3.21.0
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	golang.org/x/oauth2 v0.37.0
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/gallop-http/gallop => ../
