package serve

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
)

// listing is the data of listing.html. All its links are relative, so that the pages work behind a
// proxy that adds a prefix to their paths.
type listing struct {
	Title, Root string
	Crumbs      []crumb
	Columns     []column
	Parent      string // "" in the root
	Rows        []row
	Summary     string
}

// crumb is a directory on the way to the one that is listed. The last one has no Href.
type crumb struct{ Name, Href string }

// column is a head of the table. Its link sorts by it.
type column struct{ Name, Href, Sort string }

type row struct{ Kind, Name, Href, Size, Time, Stamp string }

func newListing(ctx *gallop.RequestCtx, list []entryInfo, more bool, o order) *listing {
	l := &listing{Summary: summary(list, more), Rows: make([]row, len(list))}
	l.locate(ctx, o)
	for _, c := range []column{{Name: "Name"}, {Name: "Size"}, {Name: "Modified"}} {
		l.Columns = append(l.Columns, c.sortedBy(o))
	}
	for i := range list {
		l.Rows[i] = newRow(&list[i], o)
	}
	return l
}

// locate sets what depends on the path. It takes the path as it was received, because a browser
// resolves relative links against that one: an empty segment counts.
func (l *listing) locate(ctx *gallop.RequestCtx, o order) {
	raw := string(ctx.URI().PathOriginal())
	depth := strings.Count(raw, "/") - 1
	l.Root = up(depth)
	l.Crumbs = []crumb{{printable(string(ctx.Host())), l.Root + o.query()}}
	for segment := range strings.SplitSeq(strings.TrimPrefix(raw, "/"), "/") {
		depth--
		if segment == "" {
			continue
		}
		if s, err := url.PathUnescape(segment); err == nil {
			segment = s
		}
		l.Crumbs = append(l.Crumbs, crumb{printable(segment), up(depth) + o.query()})
		l.Parent = "../" + o.query()
	}
	last := &l.Crumbs[len(l.Crumbs)-1]
	last.Href, l.Title = "", last.Name+" – gallop"
}

// up returns the link that leads n directories up.
func up(n int) string { return "./" + strings.Repeat("../", max(n, 0)) }

// sortedBy sets the link of a column, and its mark if the list is sorted by it.
func (c column) sortedBy(o order) column {
	to := order{by: strings.ToLower(c.Name)}.first()
	if to.by == o.by {
		to.desc = !o.desc
		c.Sort = map[bool]string{false: "ascending", true: "descending"}[o.desc]
	}
	if c.Href = to.query(); c.Href == "" {
		c.Href = "./"
	}
	return c
}

func newRow(e *entryInfo, o order) row {
	r := row{Kind: kindOf(e), Name: printable(e.name), Href: "./" + url.PathEscape(e.name)}
	if e.dir {
		r.Name += "/"
		r.Href += "/" + o.query()
	} else {
		r.Size = string(appendSize(nil, e.size))
	}
	if !e.modified.IsZero() && e.modified.Unix() != 0 {
		r.Time = e.modified.Local().Format("2006-01-02 15:04")
		r.Stamp = e.modified.UTC().Format(time.RFC3339)
	}
	return r
}

// summary counts the entries, and says in which time zone their times are.
func summary(list []entryInfo, more bool) string {
	var dirs, files, size int64
	for i := range list {
		if list[i].dir {
			dirs++
		} else {
			files++
			size += list[i].size
		}
	}
	var parts []string
	switch {
	case dirs == 1:
		parts = append(parts, "1 directory")
	case dirs > 1:
		parts = append(parts, fmt.Sprintf("%d directories", dirs))
	}
	if files > 0 {
		parts = append(parts, plural(files, "file")+", "+string(appendSize(nil, size)))
	}
	if more {
		parts = append(parts, fmt.Sprintf("only the first %d entries that were found", maxListed))
	}
	if len(list) > 0 {
		parts = append(parts, "times in "+zone())
	}
	return strings.Join(parts, " · ")
}

// zone returns the name of the time zone, such as "CET" or "UTC+03".
func zone() string {
	name, _ := time.Now().Zone()
	if name != "" && (name[0] == '+' || name[0] == '-') {
		name = "UTC" + name
	}
	return name
}
