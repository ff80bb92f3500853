//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// table has the medians of a saved report.
type table map[key]sample

// parseTable reads what report.cell has printed.
func parseTable(text string) (table, error) {
	names := map[string]cell{}
	for _, c := range allCells {
		names[c.String()] = c
	}
	t := table{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2+int(figures) {
			continue
		}
		c, known := names[fields[0]]
		if !known {
			continue
		}
		var s sample
		for f := range figures {
			v, err := strconv.ParseFloat(fields[2+f], 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			s[f] = v
		}
		t[key{c, fields[1]}] = s
	}
	for _, c := range allCells {
		for _, server := range []string{"gallop", "fasthttp"} {
			if t[key{c, server}][rate] == 0 {
				return nil, fmt.Errorf("%s of %s is missing", c, server)
			}
		}
	}
	return t, nil
}

// ratio returns the rate of a server as a multiple of fasthttp's, or 0 if the server was not measured.
func (t table) ratio(c cell, server string) float64 {
	return t[key{c, server}][rate] / t[key{c, "fasthttp"}][rate]
}
