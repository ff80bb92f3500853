package figures

import (
	"fmt"
	"strings"
	"testing"
)

const file = `
server    CPU µs  user µs
a            1.0        3

median    CPU µs  user µs
a         1234.6        1
b              7       22

÷ b       CPU µs      p50
a          0.647      2.1

ns/op          a b      ÷ b
x/1            3 4     0.49
mean                   0.12

row     server   CPU µs  rate
c1      a          1.43   515
c1      a b        2.43   516

c2      a          3.50   717
`

func TestCell(t *testing.T) {
	for cell, want := range map[string]string{
		"a ÷ b: CPU µs": "0.65", "a ÷ b: p50": "2", "a: CPU µs": "1,235", "b: CPU µs": "7", "x/1: ÷ b": "0.5", "mean: ÷ b": "0.1", "x/1: b": "4", "c: CPU µs": "",
		"c1 a: rate": "515", "c1 a b: CPU µs": "2.43", "c2 a: rate": "717", "b × 1.5: CPU µs": "10.5", "a × 2: CPU µs": "2,469", "b × x: CPU µs": "",
	} {
		got, ok := Cell(file, cell)
		if ok != (want != "") || ok && !Agree(want, got) {
			t.Errorf("%s: %v, %v", cell, got, ok)
		}
	}
	if Agree("0.79", 0.796) || Agree("0.79", 0.784) || !Agree("0.79", 0.7949) || !Agree("1,235", 1234.6) || Agree("1,235", 1236) {
		t.Error("figures agree that do not, or the other way")
	}
}

func TestFill(t *testing.T) {
	const page = "It takes [9.0](results/x.txt \"b: CPU µs\") µs, [1](../results/x.txt\n\"a: CPU µs\") and [0.65](results/x.txt \"a ÷ b: CPU µs\").\n[z](y.txt \"b: CPU µs\") [3](results/x.txt \"d: CPU µs\")"
	var read []string
	got, missing := Fill(page, func(name string) string {
		read = append(read, name)
		return file
	})
	want := strings.NewReplacer("[9.0]", "[7.0]", "[1]", "[1,235]").Replace(page)
	if got != want || fmt.Sprint(missing) != "[results/x.txt: d: CPU µs]" || len(read) != 4 {
		t.Errorf("missing %v, read %v, got\n%s", missing, read, got)
	}
}
