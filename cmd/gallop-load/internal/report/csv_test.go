package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
)

func TestCSV(t *testing.T) {
	var timeline, requests bytes.Buffer
	if err := CSVSeconds(&timeline, resulttest.Open()); err != nil {
		t.Fatal(err)
	}
	if err := CSVRequests(&requests, resulttest.Open()); err != nil {
		t.Fatal(err)
	}
	golden(t, "seconds.csv", timeline.Bytes())
	golden(t, "requests.csv", requests.Bytes())
	rows, err := csv.NewReader(&timeline).ReadAll()
	if err != nil || len(rows) != 21 || rows[5][6] != "489" || rows[1][0] != "0" {
		t.Errorf("%d rows, %v, %q", len(rows), err, rows[5])
	}
}

func TestCSVQuotesNames(t *testing.T) {
	r := hostile()
	var b bytes.Buffer
	if err := CSVRequests(&b, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][1] != strings.ReplaceAll(r.Series[0].Name, "\r\n", "\n") {
		t.Errorf("%v %q", err, rows)
	}
}
