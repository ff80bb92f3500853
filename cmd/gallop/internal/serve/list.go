package serve

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// maxListed is how many entries of a directory are listed at most.
const maxListed = 10_000

// entryInfo is an entry of a directory. For a symbolic link it describes the target.
type entryInfo struct {
	name     string
	dir      bool
	size     int64
	modified time.Time
}

// readList reads a directory. more reports that it has more than maxListed entries. readList skips
// entries that gallop.FS does not serve:
//
//   - devices and pipes
//   - symbolic links without a target, or with one outside of files
//   - dotfiles, unless hidden is set
func readList(files fs.FS, dir string, hidden bool) (list []entryInfo, more bool, err error) {
	f, err := files.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, false, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
	}
	for {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			if !hidden && isDotfile(e.Name()) {
				continue
			}
			info, err := fs.Stat(files, path.Join(dir, e.Name()))
			if err != nil || !info.IsDir() && !info.Mode().IsRegular() {
				continue
			}
			if len(list) == maxListed {
				return list, true, nil
			}
			list = append(list, entryInfo{e.Name(), info.IsDir(), info.Size(), info.ModTime()})
		}
		if errors.Is(err, io.EOF) {
			return list, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// isDotfile reports whether gallop.FS.HideDotfiles hides the name.
func isDotfile(name string) bool { return name[0] == '.' && name != ".well-known" }

// order is how a list is sorted. Directories always come before files.
type order struct {
	by   string // name, size or modified
	desc bool
}

// byName is the order of a list unless the query names another.
var byName = order{by: "name"}

// parseOrder reads the order from the query: sort is name, size or modified, order is asc or desc.
// Anything else means the default.
func parseOrder(q *gallop.Args) order {
	o := order{by: string(q.Peek("sort"))}
	switch o.by {
	case "name", "size", "modified":
	default:
		return byName
	}
	o.desc = o.first().desc
	switch string(q.Peek("order")) {
	case "asc":
		o.desc = false
	case "desc":
		o.desc = true
	}
	return o
}

// first returns the order in which a column is sorted first: names from A, the largest file and
// the latest time first.
func (o order) first() order { return order{o.by, o.by != "name"} }

// query returns the query that parseOrder reads as o, "" for the default.
func (o order) query() string {
	switch {
	case o == byName:
		return ""
	case o.desc:
		return "?sort=" + o.by + "&order=desc"
	}
	return "?sort=" + o.by + "&order=asc"
}

func (o order) sort(list []entryInfo) {
	slices.SortFunc(list, func(a, b entryInfo) int {
		if a.dir != b.dir {
			if a.dir {
				return -1
			}
			return 1
		}
		c := 0
		switch {
		case o.by == "size" && !a.dir:
			c = cmp.Compare(a.size, b.size)
		case o.by == "modified":
			c = a.modified.Compare(b.modified)
		case o.by == "name":
			c = compareNames(a.name, b.name)
		}
		if o.desc {
			c = -c
		}
		return cmp.Or(c, compareNames(a.name, b.name))
	})
}

// compareNames compares names as people do: without case, and numbers in them by value, so that
// "file9" comes before "file10".
func compareNames(a, b string) int {
	x, y := strings.ToLower(a), strings.ToLower(b)
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m == 0 || n == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		v, w := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if c := cmp.Or(cmp.Compare(len(v), len(w)), cmp.Compare(v, w)); c != 0 {
			return c
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
