package serve

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
)

// jsonList is the form of a list for programs. It is the form that gallop.FS.JSONIndexPages uses.
type jsonList struct {
	Entries   []jsonEntry `json:"entries"`
	Truncated bool        `json:"truncated,omitzero"`
}

type jsonEntry struct {
	Name     string     `json:"name"`
	Type     string     `json:"type"`
	Size     *int64     `json:"size,omitempty"` // of a file
	Modified *time.Time `json:"modified,omitempty"`
}

// prefersJSON reports whether the client prefers JSON to a page.
func prefersJSON(ctx *gallop.RequestCtx) bool {
	accept := bytes.Join(ctx.Request.Header.PeekAll(gallop.HeaderAccept), []byte(","))
	return negotiate.MediaType(accept, "text/html", "application/json") == "application/json"
}

// sendJSON sends a list in the order that it has.
func sendJSON(ctx *gallop.RequestCtx, list []entryInfo, more bool) {
	l := jsonList{Entries: []jsonEntry{}, Truncated: more}
	for i := range list {
		e := jsonEntry{Name: list[i].name, Type: "directory"}
		if !list[i].dir {
			e.Type, e.Size = "file", &list[i].size
		}
		if at := list[i].modified; !at.IsZero() && at.Unix() != 0 {
			at = at.UTC().Truncate(time.Second)
			e.Modified = &at
		}
		l.Entries = append(l.Entries, e)
	}
	body, err := json.Marshal(l)
	if err != nil {
		ctx.Error(gallop.StatusMessage(gallop.StatusInternalServerError), gallop.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.Header.Set(gallop.HeaderCacheControl, "no-cache")
	ctx.SetBody(append(body, '\n'))
}
