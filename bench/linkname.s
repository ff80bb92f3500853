// The compiler takes functions without a body, as those that negotiate_test.go links to, only
// where there is assembly.
