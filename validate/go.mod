module github.com/gallop-http/gallop/validate

go 1.26.0

require (
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	github.com/go-playground/validator/v10 v10.30.6
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/gabriel-vasile/mimetype v1.4.16 // indirect
	github.com/go-playground/locales v0.14.2 // indirect
	github.com/go-playground/universal-translator v0.18.2 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/leodido/go-urn v1.5.0 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/gallop-http/gallop => ../
