package cli

import (
	"io"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/compare"
)

func newCompare() *command {
	format := "text"
	var force boolFlag
	c := &command{
		name:  "compare",
		args:  "BEFORE AFTER...",
		short: "Compare results with the statistics of benchstat",
		long: `
Reads files that --output json has written, and compares the first one with each of
the others. If they have the results of several runs (--repeat), the tables show medians
with confidence intervals, and mark differences that chance does not explain (Mann–Whitney
U test). A comma joins several files of one side: a1.json,a2.json b.json. With one file,
compare summarizes its runs.`,
		flags: []option{
			{name: "format", value: "FORMAT", help: "text, csv or json", into: &choiceFlag{&format, []string{"text", "csv", "json"}}},
			{name: "force", help: "compare runs although their plans differ", into: &force},
		},
		examples: []example{
			{"Compare two versions of a server", "gallop-load --repeat 10 -o json=old.json http://localhost:8080/\n  gallop-load --repeat 10 -o json=new.json http://localhost:8081/\n  gallop-load compare old.json new.json"},
		},
	}
	c.run = func(env Env, args []string) error {
		if len(args) == 0 {
			return &usageError{"there is no result to compare", c.seeHelp()}
		}
		sides, err := compare.ReadSides(args...)
		if err != nil {
			return invalid(err)
		}
		done, err := compare.Compare(sides, compare.Options{Force: bool(force)})
		if err != nil {
			return invalid(err)
		}
		return writeComparison(env.Stdout, done, format)
	}
	return c
}

func writeComparison(w io.Writer, c *compare.Comparison, format string) error {
	switch format {
	case "csv":
		return c.CSV(w)
	case "json":
		return c.JSON(w)
	}
	return c.Text(w, styleFor(w))
}
