package files

import (
	"html"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/internal/target"
)

// AppendListing appends an HTML page that lists the directory at path p of host. All links in the page are relative, so
// the page also works behind a proxy that adds a prefix to the path.
func AppendListing(dst []byte, host, p string, list []Entry, more bool) []byte {
	dst = append(dst, listingHead...)
	dst = append(dst, html.EscapeString(printable(host+p))...)
	dst = append(dst, listingStyle...)
	dst = appendBreadcrumb(dst, host, p)
	dst = append(dst, listingTable...)
	if strings.Trim(p, "/") != "" {
		dst = append(dst, `<tr class="up"><td><a href="../"><i>↰</i>..</a><td><td>`+"\n"...)
	}
	for i := range list {
		dst = appendListed(dst, &list[i])
	}
	dst = append(dst, "</tbody></table>\n"...)
	if len(list) == 0 {
		dst = append(dst, "<p>This directory is empty.</p>\n"...)
	}
	dst = append(dst, "<footer>"...)
	dst = appendCounts(dst, list)
	if more {
		dst = append(dst, " · only the first "+strconv.Itoa(maxListed)+" names that were found are shown"...)
	}
	return append(dst, "</footer>\n</main>\n</html>\n"...)
}

// appendBreadcrumb appends a link to each directory above the path p.
func appendBreadcrumb(dst []byte, host, p string) []byte {
	segments := strings.Split(strings.Trim(p, "/"), "/")
	dirs := strings.Count(p, "/")
	up := func(n int) string { return "./" + strings.Repeat("../", max(n, 0)) }
	dst = append(dst, `<a href="`+up(dirs-1)+`">`...)
	dst = append(append(dst, html.EscapeString(printable(host))...), `/</a>`...)
	at := strings.Index(p, segments[0]) // a path may begin with more slashes than one
	for i, s := range segments {
		depth := strings.Count(p[at:], "/") - 1
		at += len(s) + 1
		switch {
		case s == "":
		case i == len(segments)-1:
			dst = append(dst, `<b>`...)
			dst = append(append(dst, html.EscapeString(printable(s))...), `</b>`...)
		default:
			dst = append(dst, `<a href="`+up(depth)+`">`...)
			dst = append(append(dst, html.EscapeString(printable(s))...), `</a><s>/</s>`...)
		}
	}
	return dst
}

func appendListed(dst []byte, e *Entry) []byte {
	slash, icon := "", "·"
	if e.Dir {
		slash, icon = "/", "▸"
	}
	href := target.AppendEscape([]byte("./"), []byte(e.Name), target.Path)
	dst = append(dst, `<tr><td><a href="`...)
	dst = append(append(dst, html.EscapeString(string(href))...), slash+`"><i>`+icon+`</i>`...)
	dst = append(append(dst, html.EscapeString(printable(e.Name))...), slash+`</a><td>`...)
	if !e.Dir {
		dst = append(dst, `<data value="`+strconv.FormatInt(e.Size, 10)+`">`...)
		dst = append(appendSize(dst, e.Size), `</data>`...)
	}
	dst = append(dst, `<td>`...)
	if HasTime(e.Modified) {
		t := e.Modified.UTC()
		dst = append(dst, `<time datetime="`...)
		dst = append(t.AppendFormat(dst, time.RFC3339), `">`...)
		dst = append(t.AppendFormat(dst, "2006-01-02 15:04"), `</time>`...)
	}
	return append(dst, '\n')
}

// appendSize appends a number of bytes with a unit, a power of 1024.
func appendSize(dst []byte, n int64) []byte {
	if n < 1024 {
		return append(strconv.AppendInt(dst, n, 10), " B"...)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1000 && unit < 4 {
		value /= 1024
		unit++
	}
	decimals := 0
	if value < 10 {
		decimals = 1
	}
	dst = strconv.AppendFloat(dst, value, 'f', decimals, 64)
	return append(dst, ' ', "KMGTP"[unit], 'i', 'B')
}

func appendCounts(dst []byte, list []Entry) []byte {
	var dirs, files int
	var size int64
	for i := range list {
		if list[i].Dir {
			dirs++
		} else {
			files++
			size += list[i].Size
		}
	}
	dst = appendCount(dst, dirs, "directory", "directories")
	dst = appendCount(append(dst, " · "...), files, "file", "files")
	if files > 0 {
		dst = appendSize(append(dst, " · "...), size)
	}
	return append(dst, " · times are UTC"...)
}

func appendCount(dst []byte, n int, one, many string) []byte {
	dst = strconv.AppendInt(dst, int64(n), 10)
	if n != 1 {
		one = many
	}
	return append(append(dst, ' '), one...)
}

// printable returns s as text for a page. It replaces invalid UTF-8, invisible characters, and characters that change
// the direction of text.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !strconv.IsGraphic(r) && r != ' ' {
			return '\uFFFD'
		}
		return r
	}, s)
	return strings.ToValidUTF8(s, "\uFFFD")
}

const (
	listingHead = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>`

	listingStyle = `</title>
<style>
:root{--bg:#fcfcfa;--fg:#1f2328;--dim:#6a717a;--line:#e6e6e1;--row:#f3f3ee;--link:#0a58ca;--dir:#9a5b00}
@media (prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#dfe3e7;--dim:#8b949e;--line:#2a2f35;--row:#1c2126;--link:#7cb7ff;--dir:#e3b062}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem}
h1{font-size:1.15rem;font-weight:400;margin:0 .3rem 1.25rem;overflow-wrap:anywhere}
h1 a,h1 b{padding:.1rem .2rem}
h1 s{text-decoration:none;color:var(--dim)}
h1 b{font-weight:600}
a{color:var(--link);text-decoration:none}
a:hover,a:focus-visible{text-decoration:underline}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th{font-size:.8rem;font-weight:500;color:var(--dim);text-align:left;padding:.3rem .5rem;border-bottom:1px solid var(--line)}
td{padding:0 .5rem;border-bottom:1px solid var(--line)}
tbody tr:hover{background:var(--row)}
td:first-child{width:100%;overflow-wrap:anywhere}
td:first-child a{display:flex;gap:.6rem;padding:.35rem 0}
td i{font-style:normal;color:var(--dim);width:1em;flex:none;text-align:center}
td a[href$="/"] i{color:var(--dir)}
td+td,th+th{text-align:right;padding-left:1.5rem;white-space:nowrap;color:var(--dim)}
footer,p{color:var(--dim);font-size:.85rem;margin:1rem .5rem}
@media (max-width:34rem){main{padding:1rem .5rem}td:nth-child(3),th:nth-child(3){display:none}}
</style>
<main>
<h1>`

	listingTable = `</h1>
<table>
<thead><tr><th>Name<th>Size<th>Modified</thead>
<tbody>
`
)
