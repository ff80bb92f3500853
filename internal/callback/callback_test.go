package callback

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// Go reports how a function ended, and Again passes that on.
func TestGo(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    func()
		want string // part of the failure
	}{
		{"returns", func() {}, ""},
		{"panics", func() { panic("boom") }, "gallop: panic: boom"},
		{"ends its goroutine", runtime.Goexit, ErrGoexit.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			failures := make(chan error)
			Go(tc.f, func(failure error) { failures <- failure })
			failure := <-failures
			if failure == nil && tc.want != "" || failure != nil && failure.Error() != tc.want {
				t.Errorf("failure %v, want %q", failure, tc.want)
			}
			var caught *Panic
			panics := errors.As(failure, &caught)
			if panics && (caught.Value != "boom" || !strings.Contains(string(caught.Stack), "TestGo")) {
				t.Errorf("value %v, stack %s", caught.Value, caught.Stack)
			}
			defer func() {
				if v := recover(); (v == "boom") != panics {
					t.Errorf("Again panics with %v", v)
				}
			}()
			if err := Again(failure); err != failure {
				t.Errorf("Again returned %v, want %v", err, failure)
			}
		})
	}
}
