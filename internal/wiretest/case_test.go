package wiretest

import "testing"

func TestLoad(t *testing.T) {
	cases, err := Load("../../testdata/cases/h1-server-public.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 495 {
		t.Errorf("%d cases, want 495", len(cases))
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.ID] || c.Expect.Kind == "" || len(c.Bytes()) == 0 && c.Area != "foreign" {
			t.Errorf("case %q: twice, empty or without an expectation", c.ID)
		}
		seen[c.ID] = true
	}
}
