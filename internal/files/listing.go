package files

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// maxListed is the maximum number of entries in a list.
const maxListed = 10_000

// Entry is a file or directory in a list.
type Entry struct {
	Name     string
	Dir      bool
	Size     int64
	Modified time.Time
}

// List returns the entries of the directory dir, sorted by name, with directories before files. A link counts as its
// target. List omits files that are neither regular files nor directories, and links whose target it cannot find. If
// hide is set, it also omits hidden names (see IsHidden). more reports that the directory has more than maxListed names.
func List(files fs.FS, dir string, hide bool) (list []Entry, more bool, err error) {
	f, err := files.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, false, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrInvalid}
	}
	entries, err := readEntries(d, maxListed+1, hide)
	if err != nil {
		return nil, false, err
	}
	if more = len(entries) > maxListed; more {
		entries = entries[:maxListed]
	}
	for _, e := range entries {
		info, err := fs.Stat(files, path.Join(dir, e.Name()))
		if err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			list = append(list, Entry{e.Name(), info.IsDir(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b Entry) int {
		if a.Dir != b.Dir {
			if a.Dir {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return list, more, nil
}

// readEntries returns the first n entries of d. If hide is set, it skips hidden names.
func readEntries(d fs.ReadDirFile, n int, hide bool) (list []fs.DirEntry, err error) {
	for len(list) < n {
		entries, err := d.ReadDir(n - len(list))
		for _, e := range entries {
			if !hide || !IsHidden(e.Name()) {
				list = append(list, e)
			}
		}
		if errors.Is(err, io.EOF) || err == nil && len(entries) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}
