package files

import (
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// This file decides which names are files on Windows. It is a function of the name alone, so
// the tests run on every system. Elsewhere all of these are ordinary names and are served:
// source trees have aux.c, and Maildir has colons.

// isWindowsName reports whether Windows takes segment for the name of a file in a directory
// and for nothing else.
func isWindowsName(segment string) bool {
	return !hasWindowsSyntax(segment) && !isDevice(segment) && !isShortName(segment)
}

// hasWindowsSyntax reports whether segment is not taken literally: a drive ("C:"), a stream
// ("a.txt::$DATA"), a pattern, or a name that loses its dots and blanks at the end.
func hasWindowsSyntax(segment string) bool {
	if ascii.IndexControl([]byte(segment)) < len(segment) || strings.ContainsAny(segment, "\t<>:\"\\|?*") {
		return true
	}
	return strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ")
}

// isDevice reports whether segment is a device, with any extension: "nul", "com1.txt". In
// COM1 to COM9 and LPT1 to LPT9 the superscript digits of Latin-1 count, too.
func isDevice(segment string) bool {
	base, _, _ := strings.Cut(segment, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	number, isPort := strings.CutPrefix(base, "COM")
	if !isPort {
		number, isPort = strings.CutPrefix(base, "LPT")
	}
	return isPort && number != "" && strings.Contains("0123456789¹²³", number)
}

// isShortName reports whether segment has the form of a generated 8.3 name, the second name
// that NTFS and FAT give to files with longer ones: "GIT~1" is ".git".
func isShortName(segment string) bool {
	base, extension, _ := strings.Cut(segment, ".")
	tilde := strings.LastIndexByte(base, '~')
	if tilde < 0 || len(base) > 8 || len(extension) > 3 {
		return false
	}
	number := base[tilde+1:]
	return number != "" && strings.Trim(number, "0123456789") == ""
}
