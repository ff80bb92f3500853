package files

import (
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// fakeInfo is what a file system says of a file of five bytes.
type fakeInfo struct {
	fs.FileInfo
	modified time.Time
	sys      any
}

func (f *fakeInfo) Size() int64        { return 5 }
func (f *fakeInfo) ModTime() time.Time { return f.modified }
func (f *fakeInfo) Sys() any           { return f.sys }

func changedAt(t time.Time) *syscall.Stat_t {
	return &syscall.Stat_t{Ctim: syscall.NsecToTimespec(t.UnixNano())}
}

func TestFileTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now() // midnight, in whole seconds
		ago := func(d time.Duration) time.Time { return now.Add(-d) }
		const tick = time.Millisecond
		for _, tc := range []struct {
			name     string
			modified time.Time
			sys      any
			weak     bool
			changes  bool // the tag is another one if only the change is another one
		}{
			{"old", ago(time.Hour + tick), changedAt(ago(time.Hour + tick)), false, false},
			{"new", ago(2*time.Second - tick), changedAt(ago(2*time.Second - tick)), true, false},
			{"whole seconds, old", ago(time.Hour), changedAt(ago(time.Hour)), false, true},
			{"whole seconds, new", ago(time.Second), changedAt(ago(time.Second)), true, true},
			{"whole seconds, two seconds old", ago(2 * time.Second), changedAt(ago(2 * time.Second)), false, true},
			{"whole seconds, set back", ago(time.Hour), changedAt(ago(time.Second)), true, true},
			{"whole seconds, set back two seconds ago", ago(time.Hour), changedAt(ago(2 * time.Second)), false, true},
			{"set back to a whole second", ago(time.Hour), changedAt(ago(tick)), false, true},
			{"in the future", ago(-time.Hour), changedAt(ago(time.Hour)), true, true},
			{"change not known, old", ago(time.Hour), nil, false, false},
			{"change not known, new", ago(time.Second), nil, true, false},
			{"change of another kind", ago(time.Hour), "embedded", false, false},
			{"no change", ago(time.Hour), (*syscall.Stat_t)(nil), false, false},
		} {
			tag, weak := Tag(&fakeInfo{modified: tc.modified, sys: tc.sys})
			if weak != tc.weak {
				t.Errorf("%s: weak %v", tc.name, weak)
			}
			other, _ := Tag(&fakeInfo{modified: tc.modified, sys: changedAt(ago(30 * time.Second))})
			if _, there := tc.sys.(*syscall.Stat_t); there && tc.name != "no change" && (tag != other) != tc.changes {
				t.Errorf("%s: %s and %s", tc.name, tag, other)
			}
		}
	})
}
