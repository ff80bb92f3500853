package cli

import "fmt"

func newCompare() *command {
	c := &command{
		name:  "compare",
		args:  "BEFORE AFTER",
		short: "Compare two results, or two sets of repeated ones",
		long: `
Reads two files that --output json has written. If they have the results of several
runs (--repeat), differences are tested for significance.`,
		examples: []example{
			{"Compare two versions of a server", "gallop-load --repeat 10 -o json=old.json http://localhost:8080/\n  gallop-load --repeat 10 -o json=new.json http://localhost:8081/\n  gallop-load compare old.json new.json"},
		},
	}
	c.run = func(env Env, args []string) error {
		if len(args) != 2 {
			return &usageError{fmt.Sprintf("compare takes two files, not %d", len(args)), c.seeHelp()}
		}
		before, err := readResults(args[0])
		if err != nil {
			return invalid(err)
		}
		after, err := readResults(args[1])
		if err != nil {
			return invalid(err)
		}
		return compareResults(env.Stdout, before, after)
	}
	return c
}
