package files

import (
	"strings"

	"github.com/gallop-http/gallop/internal/ascii"
)

// This file decides which names are files on Windows. The decision depends only on the name, so the tests run on every
// system. On other systems, all names are ordinary: source trees contain aux.c, and Maildir uses colons.

// isWindowsName reports whether segment can only be the name of a file in a directory on Windows.
func isWindowsName(segment string) bool {
	return !hasWindowsSyntax(segment) && !isDevice(segment) && !isShortName(segment)
}

// hasWindowsSyntax reports whether Windows does not take segment literally. Examples are a drive ("C:"), a stream
// ("a.txt::$DATA"), a pattern, and a name with dots or blanks at the end, which Windows removes.
func hasWindowsSyntax(segment string) bool {
	if ascii.IndexControl([]byte(segment)) < len(segment) || strings.ContainsAny(segment, "\t<>:\"\\|?*") {
		return true
	}
	return strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ")
}

// isDevice reports whether segment is a device, with any extension, such as "nul" or "com1.txt". The names of ports,
// COM0 to COM9 and LPT0 to LPT9, can also have superscript digits of Latin-1.
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

// isShortName reports whether segment has the form of a generated 8.3 name. NTFS and FAT give such a second name to
// files with longer names: "GIT~1" is ".git".
func isShortName(segment string) bool {
	base, extension, _ := strings.Cut(segment, ".")
	tilde := strings.LastIndexByte(base, '~')
	if tilde < 0 || len(base) > 8 || len(extension) > 3 {
		return false
	}
	number := base[tilde+1:]
	return number != "" && strings.Trim(number, "0123456789") == ""
}
