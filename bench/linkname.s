// The compiler accepts functions without a body, like those that negotiate_test.go links to, only in packages with an
// assembly file.
