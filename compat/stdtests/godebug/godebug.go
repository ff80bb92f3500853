// Package godebug replaces internal/godebug. Every setting has its default.
package godebug

// Setting is a setting of the GODEBUG environment variable.
type Setting struct{ name string }

// New returns the setting with the given name.
func New(name string) *Setting { return &Setting{name} }

// Name returns the name of the setting.
func (s *Setting) Name() string { return s.name }

// Value returns the empty string, which means the default.
func (*Setting) Value() string { return "" }

// IncNonDefault does nothing.
func (*Setting) IncNonDefault() {}
