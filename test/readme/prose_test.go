package readme_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestProse reads the prose of the project and refuses words and forms that make a reader stumble. Prose is the text of Markdown pages
// and the comments in Go files. Code, identifiers, link targets and quotations are not prose. This file has the rules;
// prose_sentences_test.go finds the sentences.

// forms are refused wherever they match in a sentence. Each match has one of the words, in lower case, which are faster to find.
var forms = []struct {
	what  *regexp.Regexp
	words []string
}{
	{regexp.MustCompile(`(?i)\bfor ever\b`), []string{"for ever"}},
	{regexp.MustCompile(`(?i)\b(thereof|seldom|whoever|upon|shall)\b`), []string{"thereof", "seldom", "whoever", "upon", "shall"}},
	{regexp.MustCompile(`(?i)\bunder way\b`), []string{"under way"}},
	{regexp.MustCompile(`(?i)\b(nobody|somebody else)['’]s\b`), []string{"nobody", "somebody"}},
	{regexp.MustCompile(`(?i)\band its kin\b`), []string{"its kin"}},
	{regexp.MustCompile(`(?i)\boctets?\b(?:[^-]|$|-[^s])`), []string{"octet"}}, // octet-stream is a name
	{regexp.MustCompile(`(?i)\b(an|the|its|no|each|every) answers?\b`), []string{"answer"}},
	{regexp.MustCompile(`^(Who|Whoever|What)\b.*\.$`), []string{"who", "what"}},
}

// isAs is refused in doc comments: "SetQuery is as SetHeader" does not say what SetQuery does.
var isAs = regexp.MustCompile(`\b(is|are) as [A-Z\[]`)

// maxWords is the most words that a sentence of README.md and docs/ has.
const maxWords = 35

// A line of this file permits a phrase in a file: file | phrase | reason. The phrase is part of a sentence as the test prints it.
const (
	allowFile = "testdata/prose_allow.txt"
	maxAllow  = 20
)

// refused returns the pattern that a sentence of a file matches, or "".
func (s sentence) refused(name string) string {
	lower := strings.ToLower(s.text)
	for _, form := range forms {
		for _, word := range form.words {
			if strings.Contains(lower, word) && form.what.MatchString(s.text) {
				return form.what.String()
			}
		}
	}
	if s.doc && isAs.MatchString(s.text) {
		return isAs.String()
	}
	if name == "README.md" || strings.HasPrefix(name, "docs/") {
		if n := len(words.FindAllString(s.text, -1)); n > maxWords {
			return fmt.Sprintf("%d words", n)
		}
	}
	return ""
}

func TestProse(t *testing.T) {
	t.Chdir(top)
	allowed := readAllowed(t)
	used, read := map[allowedPhrase]bool{}, 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "testdata" || base != "." && (base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(name); ext != ".md" && ext != ".go" {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read++
		sentences, err := sentencesOf(name, src)
		for _, s := range sentences {
			why := s.refused(name)
			if why == "" {
				continue
			}
			permitted := false
			for _, a := range allowed {
				if a.file == name && strings.Contains(s.text, a.phrase) {
					permitted, used[a] = true, true
				}
			}
			if !permitted {
				t.Errorf("%s:%d: %s\n\t%s", name, s.line, s.text, why)
			}
		}
		return err
	})
	if err != nil || read < 100 {
		t.Errorf("%d files, %v", read, err)
	}
	for _, a := range allowed {
		if !used[a] {
			t.Errorf("%s: the line about %q in %s permits nothing", allowFile, a.phrase, a.file)
		}
	}
}

type allowedPhrase struct{ file, phrase, reason string }

func readAllowed(t *testing.T) []allowedPhrase {
	t.Helper()
	text, err := os.ReadFile(allowFile)
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := parseAllowed(string(text))
	if err != nil {
		t.Fatalf("%s: %v", allowFile, err)
	}
	return allowed
}

func parseAllowed(text string) (allowed []allowedPhrase, err error) {
	for line := range strings.Lines(text) {
		part := strings.Split(strings.TrimSpace(line), " | ")
		if len(part) != 3 || part[0] == "" || part[1] == "" || part[2] == "" {
			return nil, fmt.Errorf("%q is not a file, a phrase and a reason", line)
		}
		allowed = append(allowed, allowedPhrase{part[0], part[1], part[2]})
	}
	if len(allowed) > maxAllow {
		return nil, fmt.Errorf("%d lines, at most %d are permitted", len(allowed), maxAllow)
	}
	return allowed, nil
}

func TestProseAllowed(t *testing.T) {
	const line = "a.go | an answer | it is one\n"
	for text, ok := range map[string]bool{
		"": true, line: true, strings.Repeat(line, maxAllow): true, strings.Repeat(line, maxAllow+1): false,
		"a.go | an answer\n": false, "a.go | an answer | \n": false, "a.go an answer it is one\n": false,
	} {
		if _, err := parseAllowed(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The test would notice each of these sentences, in every place that has prose.
func TestProseNotices(t *testing.T) {
	for _, said := range []string{
		"The connection stays open for ever.", "The body or a part thereof is dropped.", "It is seldom long.", "Tell whoever is asking.",
		"It waits for requests under way.", "That is nobody's business.", "It is somebody else’s turn.", "GET and its kin have no body.",
		"The call is made upon arrival.", "Other octets are refused.", "Each octet.", "A server shall wait.", "An answer comes at once.",
		"It waits for\nthe answer of the server.", "There were no answers.", "Who asks is told.", "What is left is dropped.",
		"It is short. What is left, *all* of it, is dropped.", "It took an\nanswer (see `x`).",
	} {
		lines := strings.ReplaceAll(said, "\n", "\n// ")
		for name, text := range map[string]string{
			"a/b.md": said + "\n", "a.md": "Good.\n\n- Good. " + said + "\n- Good.\n", "b.md": "> Good.\n\n" + said + "\n```\nx\n```\n",
			"table.md": "| a | b |\n|---|---|\n| `x` | " + strings.ReplaceAll(said, "\n", " ") + " |\n", "head.md": "## " + strings.ReplaceAll(said, "\n", " ") + "\n",
			"a.go": "package a\n\n// A does that. " + lines + "\nfunc A() {}\n", "b.go": "package a\n\nfunc A() {\n\t// " + lines + "\n}\n",
			"c.go": "package a\n\n// A is one of:\n//   - " + lines + "\nvar A = 1 // good\n", "d.go": "/* " + said + " */\npackage a\n",
		} {
			if found := refusedIn(t, name, text); len(found) != 1 {
				t.Errorf("%s: found %q in %q", name, found, text)
			}
		}
	}
	for text, name := range map[string]string{
		manyWords(maxWords) + " longer.": "README.md", manyWords(maxWords-5) + "\n`code` is (a word), a [link](to/it.md \"title\")": "docs/design/a.md",
		"package a\n\n// Set is as [Add].\nfunc Set() {}": "a.go", "package a\n\ntype A struct {\n\tB int // B and C are as Add.\n}": "b.go",
	} {
		if found := refusedIn(t, name, text); len(found) != 1 {
			t.Errorf("%s: found %q in %q", name, found, text)
		}
	}
}

func TestProsePermits(t *testing.T) {
	for text, name := range map[string]string{
		"It answers with 404. The server answers each request once. Who asks? What is this?\n":                                                                       "a.md",
		"`for ever`, ``an ` answer`` and [all](upon/octets.md \"the answer\") are code.\n":                                                                           "b.md",
		"RFC 9110 says \"a server SHALL\nanswer upon that\", and “octets”.\n":                                                                                        "c.md",
		"```\nWhat this is.\n```\n\n    seldom\n\n> Whoever shall.\n":                                                                                                "d.md",
		"| `a|the answer` |\n|---|\n| application/octet-stream |\n":                                                                                                  "e.md",
		manyWords(maxWords) + ".\n" + manyWords(maxWords) + ".\n":                                                                                                    "README.md",
		manyWords(maxWords) + " and more and more.\n":                                                                                                                "CHANGELOG.md",
		"package a\n\n//go:generate upon an answer\n\n// the.answers, theAnswers, an_answer and \"an answer\".\n//\n//\tan answer\nvar octets = `\n// the answer\n`": "a.go",
		"package a\n\nfunc ExampleA() {\n\ta()\n\t// Output:\n\t// the answer\n}\n\n// This is as Add is.":                                                           "b.go",
	} {
		if found := refusedIn(t, name, text); len(found) != 0 {
			t.Errorf("%s: found %q in %q", name, found, text)
		}
	}
}

// refusedIn returns the sentences of a file that are refused.
func refusedIn(t *testing.T, name, text string) (found []string) {
	t.Helper()
	sentences, err := sentencesOf(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sentences {
		if why := s.refused(name); why != "" {
			found = append(found, fmt.Sprintf("%d: %s", s.line, s.text))
		}
	}
	return found
}

// manyWords returns words without an end.
func manyWords(n int) string {
	return strings.TrimSpace(strings.Repeat("long ", n))
}
