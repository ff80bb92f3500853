package readme_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// A sentence is one sentence of prose, with single spaces between its words.
type sentence struct {
	line int
	text string
	doc  bool // in a doc comment
}

// A block is a paragraph, an item of a list, a heading or a cell of a table.
type block struct {
	line int
	text string
	doc  bool
}

var (
	// notSaid is what is cut out of a block, in this order. Identifiers become X, which keeps the sentence around them.
	notSaid = []struct {
		what *regexp.Regexp
		by   string
		has  string // every match has one of these characters; empty for any
	}{
		{regexp.MustCompile("``[^`]+``|`[^`]*`"), "X", "`"},
		{regexp.MustCompile(`<!--[\s\S]*?-->|</?[a-z][^>]*>|https?://\S+`), "", "</"},
		{regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`), "$1", "["},
		{regexp.MustCompile(`'"'|\\"`), "", `"`},
		{regexp.MustCompile(`"[^"]{0,600}"|“[^”]*”`), "X", `"“`},
		{regexp.MustCompile(`\[[\w.*]+\]`), "[X]", "["},
		{regexp.MustCompile(`\b(e\.g|i\.e|etc|vs|cf|resp)\.`), "$1", "."},
		{regexp.MustCompile(`\b\w+(\.\w+)+\b(\(\))?|\b\w*[a-z]\w*[A-Z_]\w*`), "X", ""},
		{regexp.MustCompile(`\*+|\b_|_\b`), "", "*_"},
	}
	sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*\s`)
	words       = regexp.MustCompile(`\S*[\pL\pN]\S*`)
	listItem    = regexp.MustCompile(`^\s*([-*+•]|\d+\.)\s+`)
	directive   = regexp.MustCompile(`^(//[a-z0-9]+:[a-z0-9]|//(line|export) |//nolint|// \+build)`)
	output      = regexp.MustCompile(`(?i)^(unordered )?output:`)
	fence       = regexp.MustCompile("^\\s*(```|~~~)")
)

// sentencesOf returns the prose of a file.
func sentencesOf(name string, src []byte) (all []sentence, err error) {
	var blocks []block
	if strings.HasSuffix(name, ".go") {
		blocks, err = commentBlocks(name, src)
	} else {
		blocks = markdownBlocks(string(src))
	}
	for _, b := range blocks {
		text := b.text
		for _, cut := range notSaid {
			if cut.has != "" && !strings.ContainsAny(text, cut.has) {
				continue
			}
			text = cut.what.ReplaceAllStringFunc(text, func(found string) string {
				kept := cut.what.ReplaceAllString(found, cut.by)
				return kept + strings.Repeat("\n", strings.Count(found, "\n")-strings.Count(kept, "\n")) // for the numbers of the lines
			})
		}
		line := b.line
		for rest := text + "\n"; rest != ""; {
			end := len(rest)
			if at := sentenceEnd.FindStringIndex(rest); at != nil {
				end = at[1]
			}
			blank := len(rest[:end]) - len(strings.TrimLeft(rest[:end], " \n"))
			if said := strings.Join(strings.Fields(rest[:end]), " "); said != "" {
				all = append(all, sentence{line + strings.Count(rest[:blank], "\n"), said, b.doc})
			}
			line += strings.Count(rest[:end], "\n")
			rest = rest[end:]
		}
	}
	return all, err
}

// markdownBlocks returns the blocks of a page, without fenced code, indented code and block quotes.
func markdownBlocks(page string) (blocks []block) {
	var b builder
	fenced, lines := false, strings.Split(page, "\n")
	for i, line := range lines {
		text := strings.TrimSpace(line)
		isFence := fence.MatchString(line)
		fenced = fenced != isFence
		switch {
		case isFence || fenced || strings.HasPrefix(text, ">") || text == "" || strings.Trim(text, "|-: ") == "":
			b.end()
		case strings.HasPrefix(text, "|"):
			b.end()
			code := regexp.MustCompile("`[^`]*`").ReplaceAllString(text, "`X`")
			for cell := range strings.SplitSeq(code, "|") {
				b.add(i+1, cell)
				b.end()
			}
		case strings.HasPrefix(text, "#"):
			b.end()
			b.add(i+1, strings.TrimLeft(text, "# "))
			b.end()
		case b.text == "" && strings.HasPrefix(line, "    ") && !listItem.MatchString(line):
		default:
			b.addItem(i+1, line)
		}
	}
	return b.end()
}

// commentBlocks returns the blocks of the comments of a Go file, without directives, code, diagrams and the output of examples.
func commentBlocks(name string, src []byte) ([]block, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	docs := map[*ast.CommentGroup]bool{file.Doc: true}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			docs[n.Doc] = true
		case *ast.FuncDecl:
			docs[n.Doc] = true
		case *ast.TypeSpec:
			docs[n.Doc] = true
		case *ast.ValueSpec:
			docs[n.Doc] = true
		case *ast.Field:
			docs[n.Doc], docs[n.Comment] = true, true
		}
		return true
	})
	var b builder
	for _, group := range file.Comments {
		b.doc = docs[group]
	lines:
		for _, comment := range group.List {
			start := set.Position(comment.Pos()).Line
			for i, line := range strings.Split(comment.Text, "\n") {
				text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "/*"), "*/")
				text = strings.TrimPrefix(text, " ")
				said := strings.TrimSpace(text)
				if output.MatchString(said) {
					break lines
				}
				switch {
				case said == "" || directive.MatchString(line) || strings.HasPrefix(said, ">") || strings.HasPrefix(text, "\t"):
					b.end()
				case b.text == "" && strings.HasPrefix(text, "  ") && !listItem.MatchString(text):
				default:
					b.addItem(start+i, strings.TrimPrefix(text, "# "))
				}
			}
		}
		b.end()
	}
	return b.end(), nil
}

// A builder joins lines to blocks.
type builder struct {
	block
	blocks []block
}

// addItem adds a line, which begins a new block if it is an item of a list.
func (b *builder) addItem(line int, text string) {
	if listItem.MatchString(text) {
		b.end()
	}
	b.add(line, listItem.ReplaceAllString(text, ""))
}

func (b *builder) add(line int, text string) {
	b.line = cmp.Or(b.line, line)
	b.text += text + "\n"
}

// end ends the block and returns all blocks.
func (b *builder) end() []block {
	if b.text != "" {
		b.blocks = append(b.blocks, b.block)
	}
	b.block = block{doc: b.doc}
	return b.blocks
}
