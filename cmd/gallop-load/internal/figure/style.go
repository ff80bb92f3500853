package figure

import (
	"os"

	"golang.org/x/term"
)

// Style colors text by escape codes if it is true.
type Style bool

// StyleFor returns whether colors suit a file: it has to be a terminal, NO_COLOR has to be unset, and TERM must not be dumb.
func StyleFor(f *os.File) Style {
	return Style(os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())))
}

func (s Style) wrap(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Green colors what is as it should be.
func (s Style) Green(text string) string { return s.wrap("32", text) }

// Red colors what has failed.
func (s Style) Red(text string) string { return s.wrap("31", text) }

// Yellow colors what is doubtful.
func (s Style) Yellow(text string) string { return s.wrap("33", text) }

// Cyan colors values.
func (s Style) Cyan(text string) string { return s.wrap("36", text) }

// Faint makes text step back.
func (s Style) Faint(text string) string { return s.wrap("2", text) }

// Bold makes text stand out.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Mark returns a green ✓ or a red ✗.
func (s Style) Mark(ok bool) string {
	if ok {
		return s.Green("✓")
	}
	return s.Red("✗")
}
