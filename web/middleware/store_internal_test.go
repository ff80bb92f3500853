package middleware

import (
	"strings"
	"testing"
)

// plainStore hides what else a store can do.
type plainStore struct{ Store }

func TestNeed(t *testing.T) {
	if need[Adder]("Idempotency", Store(new(MemoryStore))) == nil {
		t.Error("a MemoryStore is no Adder")
	}
	defer func() {
		text, _ := recover().(string)
		for _, part := range []string{"middleware: Idempotency needs", "middleware.Adder", "MemoryStore", "plainStore"} {
			if !strings.Contains(text, part) {
				t.Errorf("panic %q does not say %q", text, part)
			}
		}
	}()
	need[Adder]("Idempotency", plainStore{new(MemoryStore)})
}
