package cli

import (
	"io"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/compare"
)

func newCompare() *commandline.Command {
	format := commandline.Choice{Word: "text", Words: []string{"text", "csv", "json"}}
	var force commandline.Bool
	c := &commandline.Command{
		Name:  "compare",
		Args:  "BEFORE AFTER...",
		Short: "Compare results with the statistics of benchstat",
		Long: `
Reads files that --output json has written, and compares the first one with each of
the others. If they have the results of several runs (--repeat), the tables show medians
with confidence intervals, and mark differences that chance does not explain (Mann–Whitney
U test). A comma joins several files of one side: a1.json,a2.json b.json. With one file,
compare summarizes its runs.`,
		Flags: []commandline.Option{
			{Name: "format", Value: "FORMAT", Help: "text, csv or json", Into: &format},
			{Name: "force", Help: "compare runs although their plans differ", Into: &force},
		},
		Examples: [][2]string{
			{"Compare two versions of a server", "gallop-load --repeat 10 -o json=old.json http://localhost:8080/\n  gallop-load --repeat 10 -o json=new.json http://localhost:8081/\n  gallop-load compare old.json new.json"},
		},
	}
	c.Run = func(env commandline.Env, args []string) error {
		if len(args) == 0 {
			return commandline.Usage("there is no result to compare", c.SeeHelp())
		}
		sides, err := compare.ReadSides(args...)
		if err != nil {
			return invalid(err)
		}
		done, err := compare.Compare(sides, compare.Options{Force: bool(force)})
		if err != nil {
			return invalid(err)
		}
		return writeComparison(env.Stdout, done, format.Word)
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
