module github.com/gallop-http/gallop

go 1.25.0
