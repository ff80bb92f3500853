// Package feed reads data files, CSV or JSON, and hands out their rows to users.
package feed

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// Mode is how rows are handed out.
type Mode int

const (
	Sequential Mode = iota // one after the other over all users, again from the first row at the end
	Random                 // any row
	Unique                 // like Sequential, and Exhausted reports whether rows had to be used again
	PerUser                // each user keeps the row of its number
)

var modes = [...]string{"sequential", "random", "unique", "per-user"}

func (m Mode) String() string { return modes[m] }

// ParseMode returns the mode with a name. Empty means Sequential, and per-connection means PerUser.
func ParseMode(name string) (Mode, error) {
	switch name {
	case "":
		return Sequential, nil
	case "per-connection":
		return PerUser, nil
	}
	if i := slices.Index(modes[:], name); i >= 0 {
		return Mode(i), nil
	}
	return 0, fmt.Errorf("the mode of a data file must be one of %s, not %q", strings.Join(modes[:], ", "), name)
}

// Feed is a data file. Its methods may be called by several goroutines at the same time.
type Feed struct {
	Columns []string
	Mode    Mode

	name string
	rows [][]string
	next atomic.Int64
}

// Open reads a data file. Files whose name ends in .json, .jsonl or .ndjson have one JSON object per line, or one array of
// objects. All other files are CSV with the names of the columns in the first line.
func Open(file string, mode Mode) (*Feed, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &Feed{Mode: mode, name: filepath.Base(file)}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json", ".jsonl", ".ndjson":
		err = f.readJSON(data)
	default:
		err = f.readCSV(data)
	}
	if err == nil && len(f.rows) == 0 {
		err = errors.New("the file has no rows")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return f, nil
}

func (f *Feed) readCSV(data []byte) error {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		return err
	}
	f.Columns, f.rows = all[0], all[1:]
	return nil
}

func (f *Feed) readJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var rows []map[string]any
		if err := decode(json.NewDecoder(bytes.NewReader(data)), &rows); err != nil {
			return err
		}
		return f.addObjects(rows)
	}
	var rows []map[string]any
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var row map[string]any
		switch err := decode(d, &row); {
		case err == io.EOF:
			return f.addObjects(rows)
		case err != nil:
			return fmt.Errorf("row %d: %w", len(rows)+1, err)
		}
		rows = append(rows, row)
	}
}

func decode(d *json.Decoder, into any) error {
	d.UseNumber()
	return d.Decode(into)
}

// addObjects adds rows. The columns are the keys of all objects. A missing key is an empty value.
func (f *Feed) addObjects(objects []map[string]any) error {
	for _, o := range objects {
		for key := range o {
			if !slices.Contains(f.Columns, key) {
				f.Columns = append(f.Columns, key)
			}
		}
	}
	slices.Sort(f.Columns)
	for _, o := range objects {
		row := make([]string, len(f.Columns))
		for i, column := range f.Columns {
			row[i] = text(o[column])
		}
		f.rows = append(f.rows, row)
	}
	return nil
}

// text returns a JSON value as text: strings without quotes, null as nothing, objects and arrays as JSON.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	data, _ := json.Marshal(value) // it came from JSON
	return string(data)
}

// Rows returns the number of rows.
func (f *Feed) Rows() int { return len(f.rows) }

// Row returns the row for the next iteration of a user, counted from 1. The row must not be changed.
func (f *Feed) Row(user int, r *rand.Rand) []string {
	switch f.Mode {
	case Random:
		return f.rows[r.IntN(len(f.rows))]
	case PerUser:
		return f.rows[(user-1)%len(f.rows)]
	}
	return f.rows[(f.next.Add(1)-1)%int64(len(f.rows))]
}

// Warning returns a warning if a Unique feed had fewer rows than iterations, and "" otherwise.
func (f *Feed) Warning() string {
	if used := f.next.Load(); f.Mode == Unique && used > int64(len(f.rows)) {
		return fmt.Sprintf("data file %s: %d iterations used its %d unique rows, so rows were used again", f.name, used, len(f.rows))
	}
	return ""
}
