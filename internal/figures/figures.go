// Package figures reads the figures that pages show from files of results. Tests use it, and the command that fills pages.
//
// A figure is a link to the file that has it, whose title names the cell:
//
//	[0.79](bench/results/tcp-hello-64.txt "gallop ÷ fasthttp: CPU µs")
//
// names a row, the row that it is divided by, if it is a ratio, and a column. "gallop × 1.5: bytes each" is a multiple of a cell.
package figures

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Link matches a figure. Its groups are the figure, the file and the cell.
var Link = regexp.MustCompile(`\[([^\]]*)\]\(([^) ]*results/[^)\s]+)\s+"([^"]*)"\)`)

// Fill returns a page whose figures are those of the files. It keeps the number of decimals. read returns the text of a file, whose name
// is relative to the page. missing lists cells that no file has.
func Fill(page string, read func(file string) string) (filled string, missing []string) {
	filled = Link.ReplaceAllStringFunc(page, func(link string) string {
		parts := Link.FindStringSubmatch(link)
		value, ok := Cell(read(parts[2]), parts[3])
		if !ok {
			missing = append(missing, parts[2]+": "+parts[3])
			return link
		}
		if Agree(parts[1], value) {
			return link
		}
		return "[" + format(parts[1], value) + link[len(parts[1])+1:]
	})
	return filled, missing
}

// Cell returns what a file of results has in a cell.
func Cell(file, cell string) (value float64, ok bool) {
	row, column, _ := strings.Cut(cell, ": ")
	row, times, multiplied := strings.Cut(row, " × ")
	value, ok = LookUp(file, row, column)
	if !multiplied {
		return value, ok
	}
	factor, err := strconv.ParseFloat(times, 64)
	return value * factor, ok && err == nil
}

// LookUp returns what a file of results has in a column, in the row of a name, or of two that are divided. A name may have several
// words, with more spaces between them in the file. The first table that has the row counts, and blank lines do not end a table. Single rounds
// do not count if there are medians.
func LookUp(file, row, column string) (value float64, ok bool) {
	row, base, divided := strings.Cut(row, " ÷ ")
	start := regexp.MustCompile(`^` + strings.Join(strings.Fields(regexp.QuoteMeta(row)), ` +`) + `  `)
	end := 0 // where the column ends, to the right
	for line := range strings.SplitSeq(medians(file), "\n") {
		text := []rune(line)
		if start.MatchString(line) && end > 0 && end <= len(text) {
			more, _, _ := strings.Cut(string(text[end:]), " ")
			cell := string(text[:end]) + more
			if v, err := strconv.ParseFloat(cell[strings.LastIndexByte(cell, ' ')+1:], 64); err == nil {
				return v, true
			}
		}
		if before, _, found := strings.Cut(line+" ", " "+column+" "); found && divided == strings.HasPrefix(line, "÷ "+base+" ") && (divided || !strings.HasPrefix(line, "÷")) {
			end = len([]rune(before + " " + column))
		} else if strings.HasPrefix(line, "÷") {
			end = 0
		}
	}
	return 0, false
}

// medians returns the part of a file that begins with the medians, or the whole file if it has none.
func medians(file string) string {
	if strings.HasPrefix(file, "median ") {
		return file
	}
	if _, after, found := strings.Cut(file, "\nmedian "); found {
		return "median " + after
	}
	rounds, after, found := strings.Cut(file, "\nmedian\n")
	if !found {
		return file
	}
	_, head, _ := strings.Cut(rounds, "\nserver ") // cmd/idle names the columns only once
	head, _, _ = strings.Cut(head, "\n")
	return "server " + head + "\n" + after
}

// Agree reports whether a figure is a value, rounded to the digits that the figure has.
func Agree(figure string, value float64) bool {
	_, decimals, _ := strings.Cut(figure, ".")
	shown, err := strconv.ParseFloat(strings.ReplaceAll(figure, ",", ""), 64)
	return err == nil && math.Abs(shown-value) <= 0.500001*math.Pow10(-len(decimals))
}

// format writes a value with as many decimals as a figure has, and commas between groups of three digits.
func format(like string, value float64) string {
	_, decimals, _ := strings.Cut(like, ".")
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(value, 'f', len(decimals), 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}
