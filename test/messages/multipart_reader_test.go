package messages_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"runtime"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	parts "github.com/gallop-http/gallop/internal/multipart"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// partsOf reads all parts as "name|file|content" words.
func partsOf(r io.Reader, boundary string) (words []string, err error) {
	m, err := gallop.NewMultipartReader(r, boundary)
	if err != nil {
		return nil, err
	}
	for p, err := range m.Parts() {
		if err != nil {
			return words, err
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return words, err
		}
		words = append(words, fmt.Sprintf("%s|%s|%s", p.FormName(), p.FileName(), content))
	}
	return words, nil
}

const field1 = "Content-Disposition: form-data; name=\"f\"\r\n"

func TestMultipartReader(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want string // parts with a blank between
		err  error
	}{
		{"one part", "--b\r\n" + field1 + "\r\nabc\r\n--b--\r\n", "f||abc", nil},
		{"two parts", "--b\r\n" + field1 + "\r\nabc\r\n--b\r\n" + field1 + "\r\ndef\r\n--b--\r\n", "f||abc f||def", nil},
		{"file", "--b\r\nContent-Disposition: form-data; name=x; filename=\"a b.txt\"\r\n\r\nabc\r\n--b--", "x|a b.txt|abc", nil},
		{"file in a directory", "--b\r\nContent-Disposition: form-data; name=x; filename=\"../../etc/passwd\"\r\n\r\n\r\n--b--", "x|passwd|", nil},
		{"file in a Windows directory", "--b\r\nContent-Disposition: form-data; name=x; filename=\"C:\\temp\\a.txt\"\r\n\r\n\r\n--b--", "x|a.txt|", nil},
		{"file name in UTF-8", "--b\r\nContent-Disposition: form-data; name=x; filename*=UTF-8''%e2%82%ac.txt\r\n\r\n\r\n--b--", "x|€.txt|", nil},
		{"not a form field", "--b\r\nContent-Disposition: attachment; name=x\r\n\r\nabc\r\n--b--", "||abc", nil},
		{"no header", "--b\r\n\r\nabc\r\n--b--", "||abc", nil},
		{"no content", "--b\r\n" + field1 + "\r\n\r\n--b--", "f||", nil},
		{"no content and no line for it", "--b\r\n" + field1 + "\r\n--b--", "f||", nil},
		{"neither header nor content", "--b\r\n\r\n--b--", "||", nil},
		{"no parts", "--b--\r\n", "", nil},
		{"empty line in front", "\r\n--b\r\n\r\nabc\r\n--b--", "||abc", nil},
		{"epilogue", "--b\r\n\r\nabc\r\n--b--\r\n--b\r\n\r\nsmuggled\r\n--b--", "||abc", nil},
		{"blanks behind the boundary", "--b \t\r\n\r\nabc\r\n--b-- \r\n", "||abc", nil},
		{"longer words in the content", "--b\r\n\r\na\r\n--bc\r\n--b-\r\n\r--b\r\n-- b\r\n--b--", "||a\r\n--bc\r\n--b-\r\n\r--b\r\n-- b", nil},
		{"CRs in the content", "--b\r\n\r\n\r\r\n\r\r\n--b--", "||\r\r\n\r", nil},

		{"empty", "", "", io.ErrUnexpectedEOF},
		{"no boundary", "abc\r\n\r\ndef", "", parts.ErrDelimiter},
		{"preamble", "hello\r\n--b\r\n\r\nabc\r\n--b--", "", parts.ErrDelimiter},
		{"preamble with a bare LF", "\n--b\r\n\r\nabc\r\n--b--", "", parts.ErrDelimiter},
		{"two empty lines in front", "\r\n\r\n--b\r\n\r\nabc\r\n--b--", "", parts.ErrDelimiter},
		{"no closing boundary", "--b\r\n\r\nabc", "", io.ErrUnexpectedEOF},
		{"half a closing boundary", "--b\r\n\r\nabc\r\n--b-", "", io.ErrUnexpectedEOF},
		{"end in a header", "--b\r\nA: b", "", io.ErrUnexpectedEOF},
		{"end behind a header", "--b\r\nA: b\r\n\r\n", "", io.ErrUnexpectedEOF},
		{"word behind the boundary", "--b x\r\n\r\nabc\r\n--b--", "", parts.ErrDelimiter},
		{"word behind the closing boundary", "--b\r\n\r\nabc\r\n--b--x", "||abc", parts.ErrDelimiter},
		{"bare LF behind the boundary", "--b\n\nabc\n--b--", "", parts.ErrDelimiter},
		{"boundary without an end", "--b" + strings.Repeat(" ", 1<<15), "", parts.ErrDelimiter},
		{"name that is no token", "--b\r\nA b: c\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"folded header", "--b\r\nA: b\r\n c\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"line without a colon", "--b\r\nabc\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"NUL in a header", "--b\r\nA: b\x00\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"bare LF in a header", "--b\r\nA: b\nC: d\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"two dispositions", "--b\r\n" + field1 + field1 + "\r\n\r\n--b--", "", parts.ErrHead},
		{"two names", "--b\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"name with a coded line end", "--b\r\nContent-Disposition: form-data; name*=utf-8''a%0d%0ab\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"file name with a coded NUL", "--b\r\nContent-Disposition: form-data; name=a; filename*=utf-8''b.php%00.txt\r\n\r\n\r\n--b--", "", parts.ErrHead},
		{"coded file name", "--b\r\nContent-Disposition: form-data; name=a; filename*=utf-8''c%2fd%c3%a9\r\n\r\n\r\n--b--", "a|dé|", nil},
		{"header at the limit", "--b\r\nA: " + strings.Repeat("x", parts.MaxHead-5) + "\r\n\r\n\r\n--b--", "||", nil},
		{"header over the limit", "--b\r\nA: " + strings.Repeat("x", parts.MaxHead) + "\r\n\r\n\r\n--b--", "", parts.ErrLargeHead},
		{"header without an end", "--b\r\nA: " + strings.Repeat("x", 1<<20), "", parts.ErrLargeHead},
		{"many parts", strings.Repeat("--b\r\n\r\n\r\n", parts.MaxParts) + "--b--", strings.Trim(strings.Repeat("|| ", parts.MaxParts), " "), nil},
		{"too many parts", strings.Repeat("--b\r\n\r\n\r\n", parts.MaxParts+1) + "--b--", strings.Trim(strings.Repeat("|| ", parts.MaxParts), " "), parts.ErrParts},
		{"content over the window", "--b\r\n\r\n" + strings.Repeat("x", 5*parts.Window) + "\r\n--b--", "||" + strings.Repeat("x", 5*parts.Window), nil},
		{"content of CRs over the window", "--b\r\n\r\n" + strings.Repeat("\r\n--", parts.Window) + "\r\n--b--", "||" + strings.Repeat("\r\n--", parts.Window), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, step := range []int{1, 3, 1 << 20} {
				got, err := partsOf(wiretest.AtMost(strings.NewReader(tt.in), step), "b")
				if joined := strings.Join(got, " "); joined != tt.want || err != tt.err {
					t.Fatalf("%d bytes at a time: %.200q, %v; want %.200q, %v", step, joined, err, tt.want, tt.err)
				}
			}
		})
	}
}

// Errors of the reader below are passed on as they are, and stick.
func TestMultipartReaderPassesErrorsOn(t *testing.T) {
	m, err := gallop.NewMultipartReader(wiretest.Failing("--b\r\n\r\nabc"), "b")
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(p); string(got) != "abc" || err != wiretest.ErrTest {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := p.Read(make([]byte, 1)); err != wiretest.ErrTest {
		t.Errorf("Read: %v", err)
	}
	if _, err := m.NextPart(); err != wiretest.ErrTest {
		t.Errorf("NextPart: %v", err)
	}
}

// A part is gone when the next one is asked for, whether it was read or not.
func TestPartIsGoneAfterNextPart(t *testing.T) {
	m, _ := gallop.NewMultipartReader(strings.NewReader("--b\r\nA: 1\r\na: 2\r\n\r\nabc\r\n--b\r\n\r\ndef\r\n--b--"), "b")
	first, err := m.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 1)); err == nil || err.Error() != "gallop: part was read after a call of NextPart" {
		t.Errorf("first part: %v", err)
	}
	if first.Header("a") != "1" || first.Header("B") != "" {
		t.Errorf("header of the first part: %q, %q", first.Header("a"), first.Header("B"))
	}
	if got, err := io.ReadAll(second); string(got) != "def" || err != nil {
		t.Errorf("second part: %q, %v", got, err)
	}
	for range 2 {
		if _, err := m.NextPart(); err != io.EOF {
			t.Errorf("third part: %v", err)
		}
	}
}

// However large a part is, little of it is held.
func TestMultipartReaderHoldsNoPart(t *testing.T) {
	const size = 64 << 20
	in := io.MultiReader(strings.NewReader("--X\r\n"+field1+"\r\n"), io.LimitReader(zeros{}, size), strings.NewReader("\r\n--X--"))
	var req gallop.Request
	req.Header.SetMultipartFormBoundary("X")
	req.SetBodyStream(in, -1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := req.MultipartReader()
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, p); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestMultipartReaderRefusesBoundaries(t *testing.T) {
	for _, boundary := range []string{"", "b ", "b\r\n", strings.Repeat("b", 71)} {
		if m, err := gallop.NewMultipartReader(strings.NewReader(""), boundary); m != nil || err != gallop.ErrNoMultipartForm {
			t.Errorf("%q: %v", boundary, err)
		}
	}
}

// mime/multipart reads every form that we read in the same way. It also reads others, such as forms with lines that
// end in LF.
func FuzzMultipart(f *testing.F) {
	for _, seed := range []string{
		"--b\r\n" + field1 + "\r\nabc\r\n--b--\r\n", "x\r\n--b \r\n\r\na\r\n--bc\r\n--b--", "--b\r\n\r\n--b\r\nA: b\r\n\r\n\r\r\n--b--x", "--b--",
		"--b\r\nContent-Disposition: form-data; name=x; filename=\"a/b\"\r\n\r\n\r\n--b--",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		ours, err := partsOf(wiretest.AtMost(bytes.NewReader(in), max(step, 1)), "b")
		whole, err2 := partsOf(bytes.NewReader(in), "b")
		if fmt.Sprint(ours, err) != fmt.Sprint(whole, err2) {
			t.Fatalf("cut up %q, %v; whole %q, %v", ours, err, whole, err2)
		}
		if err != nil {
			return
		}
		theirs := multipart.NewReader(bytes.NewReader(in), "b")
		for i := 0; ; i++ {
			p, err := theirs.NextRawPart()
			if err == io.EOF && i == len(ours) {
				return
			}
			if err != nil && len(in) > 4096 {
				return // mime/multipart wants the line of a boundary, its blanks too, in a buffer of that size
			}
			if err != nil || i == len(ours) {
				t.Fatalf("part %d of %d: mime/multipart says %v", i, len(ours), err)
			}
			content, err := io.ReadAll(p)
			if err != nil {
				t.Fatalf("part %d: mime/multipart says %v", i, err)
			}
			if _, got, _ := strings.Cut(ours[i], "|"); !strings.HasPrefix(ours[i], p.FormName()+"|") || !strings.HasSuffix(got, "|"+string(content)) {
				t.Fatalf("part %d: ours %q, theirs %q, %q", i, ours[i], p.FormName(), content)
			}
		}
	})
}
