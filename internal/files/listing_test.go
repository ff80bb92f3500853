package files

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestList(t *testing.T) {
	files := fstest.MapFS{
		"dir/b.txt": {Data: []byte("12345"), ModTime: modified}, "dir/A.txt": {}, "dir/a.txt": {}, "dir/zoo/x": {}, "dir/Alm/x": {},
		"dir/.env": {}, "dir/.well-known/x": {}, "dir/pipe": {Mode: fs.ModeNamedPipe}, "dir/link": {Mode: fs.ModeSymlink, Data: []byte("nowhere")},
		"other": {},
	}
	for hide, want := range map[bool]string{
		false: ".well-known/ Alm/ zoo/ .env A.txt a.txt b.txt",
		true:  ".well-known/ Alm/ zoo/ A.txt a.txt b.txt",
	} {
		list, more, err := List(files, "dir", hide)
		var names []string
		for _, e := range list {
			if e.Dir {
				e.Name += "/"
			}
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != want || more || err != nil {
			t.Errorf("hide %v: %s, %v, %v; want %s", hide, got, more, err, want)
		}
		if last := list[len(list)-1]; last.Size != 5 || !last.Modified.Equal(modified) {
			t.Errorf("%+v", last)
		}
	}
	if _, _, err := List(files, "none", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if _, _, err := List(files, "other", false); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a file: %v", err)
	}
}

func TestListOfManyNames(t *testing.T) {
	files := fstest.MapFS{}
	for i := range maxListed {
		files[fmt.Sprintf("%d", i)] = &fstest.MapFile{}
	}
	if list, more, err := List(files, ".", false); len(list) != maxListed || more || err != nil {
		t.Errorf("%d names, %v, %v", len(list), more, err)
	}
	files["last"] = &fstest.MapFile{}
	list, more, err := List(files, ".", false)
	if len(list) != maxListed || !more || err != nil {
		t.Errorf("%d names, %v, %v", len(list), more, err)
	}
	if page := string(AppendListing(nil, "h", "/", list, more)); !strings.Contains(page, "only the first 10000 names") {
		t.Errorf("%s", page[len(page)-300:])
	}
}

func TestAppendListing(t *testing.T) {
	list := []Entry{
		{Name: "sub", Dir: true, Size: 4096, Modified: modified},
		{Name: "<b>&'\".txt", Size: 2048, Modified: modified},
		{Name: "rtl\u202e\xff", Size: 1},
		{Name: "a:b", Modified: time.Unix(0, 0)},
	}
	page := string(AppendListing([]byte("in front"), "h<", "/a&b/c/", list, false))
	if !strings.HasPrefix(page, "in front<!doctype html>") || !strings.HasSuffix(page, "</html>\n") {
		t.Errorf("%q", page)
	}
	for _, want := range []string{
		"<title>h&lt;/a&amp;b/c/</title>",
		`<a href="./../../">h&lt;/</a><a href="./../">a&amp;b</a><s>/</s><b>c</b>`,
		`<a href="../">`,
		`<a href="./sub/"><i>▸</i>sub/</a><td><td><time datetime="2020-03-07T10:00:00Z">2020-03-07 10:00</time>`,
		`<a href="./%3Cb%3E&amp;&#39;%22.txt"><i>·</i>&lt;b&gt;&amp;&#39;&#34;.txt</a><td><data value="2048">2.0 KiB</data>`,
		"rtl\uFFFD\uFFFD</a><td><data value=\"1\">1 B</data><td>\n",
		`<a href="./a:b"><i>·</i>a:b</a><td><data value="0">0 B</data><td>` + "\n",
		"1 directory · 3 files · 2.0 KiB · times are UTC",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page[strings.Index(page, "<main>"):])
		}
	}
	empty := string(AppendListing(nil, "h", "/", nil, false))
	if strings.Contains(empty, `href="../"`) || !strings.Contains(empty, "This directory is empty.") || !strings.Contains(empty, "0 directories · 0 files · times") {
		t.Errorf("%s", empty[strings.Index(empty, "<main>"):])
	}
	if page := string(AppendListing(nil, "h", "//a//b/", nil, false)); !strings.Contains(page, `<a href="./../../../../">h/</a><a href="./../../">a</a><s>/</s><b>b</b>`) {
		t.Errorf("a path with empty segments: %s", page[strings.Index(page, "<main>"):])
	}
}

func TestAppendSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10 << 10: "10 KiB", 999 << 10: "999 KiB", 1000 << 10: "1.0 MiB",
		5 << 20: "5.0 MiB", 3 << 30: "3.0 GiB", 1<<63 - 1: "8192 PiB",
	} {
		if got := string(appendSize(nil, n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a b": "a b", "Grüße\u3000世": "Grüße\u3000世", "a\nb\x00\x7f": "a\uFFFDb\uFFFD\uFFFD", "\u202eexe\u200b": "\uFFFDexe\uFFFD",
		"\xff\xfe": "\uFFFD\uFFFD", "\xe4\xb8": "\uFFFD\uFFFD", "\uFFFD": "\uFFFD",
	} {
		if got := printable(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { printable("an ordinary name.txt") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
