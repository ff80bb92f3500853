package web

import (
	"encoding/json"

	"github.com/gallop-http/gallop"
)

const typeProblem = "application/problem+json"

// problem is the body of a response in the form of RFC 9457. The type is left out, which means about:blank.
type problem struct {
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	RequestID string         `json:"request_id,omitempty"`
	Errors    []problemField `json:"errors,omitempty"`
}

// problemField is a value of the request that does not fit.
type problemField struct {
	In     Source `json:"in"`
	Name   string `json:"name,omitempty"`
	Detail string `json:"detail"`
}

// ProblemErrorHandler responds with problem details (RFC 9457), as application/problem+json. Set it as Config.ErrorHandler, or for a
// group with Router.OnError.
//
//	{"title":"Bad Request","status":400,"detail":"query \"page\" is not a number","errors":[{"in":"query","name":"page","detail":"..."}]}
//
// Status and message are those that [DefaultErrorHandler] sends, and it logs the same errors. The members are:
//
//   - title: the standard text of the status. There is no member type, so the status says what the problem is (RFC 9457 §4.2.1).
//   - status: the status.
//   - detail: Error.Message, unless it is the same as title.
//   - request_id: Ctx.RequestID, if the request has one.
//   - errors: the value that does not fit, if the cause is a [BindError]: in is the Source, name the Field.
func ProblemErrorHandler(c *Ctx, err error) {
	status, text := c.publicError(err)
	p := problem{Title: gallop.StatusMessage(status), Status: status, RequestID: c.RequestID()}
	if text != p.Title {
		p.Detail = text
	}
	if wrong := asBindError(err); wrong != nil && status < 500 {
		p.Errors = []problemField{{In: wrong.Source, Name: wrong.Field, Detail: wrong.reasonText()}}
	}
	body, err := json.Marshal(p)
	if err != nil { // which strings and numbers do not cause
		body = nil
	}
	c.forgetType()
	c.Status(status).Type(typeProblem)
	c.request.SetBody(body)
}
