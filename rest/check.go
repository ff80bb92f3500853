package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
)

// checked is the stage that turns responses outside 2xx into errors.
func (c *Client) checked(next stage) stage {
	return func(x *exchange) (*Response, error) {
		resp, err := next(x)
		if err != nil || resp.StatusCode/100 == 2 {
			return resp, err
		}
		return resp, c.answerError(x, resp)
	}
}

// answerError returns the error for resp. It reads at most maxError bytes of the body and discards the rest.
func (c *Client) answerError(x *exchange, resp *Response) error {
	api := &APIError{Method: resp.method, URL: redacted(resp.URL()), StatusCode: resp.StatusCode, Response: resp}
	var body bytes.Buffer
	if resp.length > 0 {
		body.Grow(int(min(resp.length, maxError)) + bytes.MinRead)
	}
	_, _ = body.ReadFrom(io.LimitReader(resp.Body, maxError))
	api.Body = body.Bytes()
	resp.length = -1
	resp.discard()
	api.read()
	if limited := c.limitError(x, api); limited != nil {
		return limited
	}
	if resp.StatusCode == 401 {
		return &AuthError{Challenge: resp.challenge(), Err: api}
	}
	return api
}

// read fills the fields of e from the body. It leaves them empty if the body is not JSON.
func (e *APIError) read() {
	var top object
	if json.Unmarshal(e.Body, &top) != nil {
		if e.addItems(e.Body); len(e.Errors) > 0 { // the body is just a list of errors
			e.Message = e.Errors[0].Message
		}
		return
	}
	e.Message = top.text("message", "title", "error_description", "error", "msg", "description", "reason")
	e.Detail = top.text("detail")
	e.Type = top.text("type")
	e.Code = top.text("code", "error_code", "errorCode", "error")
	e.DocsURL = top.text("documentation_url", "doc_url", "docs", "help", "more_info")
	if e.Code == e.Message && top.text("code", "error_code", "errorCode") == "" {
		e.Code = ""
	}
	if inner := top.object("error"); inner != nil { // {"error": {"message": …}}
		e.Message = inner.text("message", "title", "description")
		e.Code = inner.text("code", "status", "type")
		if e.Type == "" {
			e.Type = inner.text("type")
		}
		e.addItems(inner["errors"], inner["details"])
	}
	e.addItems(top["errors"], top["invalid-params"], top["violations"], top["message"])
	e.addFields(top.object("errors"))
	if e.Message == "" && len(e.Errors) > 0 {
		e.Message = e.Errors[0].Message
	}
}

// maxItems is the maximum number of items in APIError.Errors.
const maxItems = 100

func (e *APIError) addItems(lists ...json.RawMessage) {
	for _, list := range lists {
		var items []json.RawMessage
		if json.Unmarshal(list, &items) != nil {
			continue
		}
		for _, raw := range items[:min(len(items), max(maxItems-len(e.Errors), 0))] {
			var text string
			var one object
			if json.Unmarshal(raw, &text) == nil {
				e.Errors = append(e.Errors, ErrorItem{Message: text})
			} else if json.Unmarshal(raw, &one) == nil {
				e.Errors = append(e.Errors, ErrorItem{
					Resource: one.text("resource"), Field: one.text("field", "pointer", "name", "path", "parameter", "propertyPath"),
					Code: one.text("code", "type"), Message: one.text("message", "detail", "reason", "title", "msg"),
				})
			}
		}
	}
}

// addFields adds the errors of an object that maps field names to a text or a list of texts.
func (e *APIError) addFields(byName object) {
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		from := len(e.Errors)
		if text := byName.text(name); text != "" && from < maxItems {
			e.Errors = append(e.Errors, ErrorItem{Message: text})
		}
		e.addItems(byName[name])
		for i := range e.Errors[from:] {
			if item := &e.Errors[from+i]; item.Field == "" {
				item.Field = name
			}
		}
	}
}

// object is a JSON object whose members are of any type.
type object map[string]json.RawMessage

// text returns the first of the members that is a non-empty string or a number.
func (o object) text(names ...string) string {
	for _, name := range names {
		raw := o[name]
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var number json.Number
		if len(raw) > 0 && raw[0] != '"' && json.Unmarshal(raw, &number) == nil && number != "" {
			return number.String()
		}
	}
	return ""
}

func (o object) object(name string) (inner object) {
	if json.Unmarshal(o[name], &inner) != nil {
		return nil
	}
	return inner
}
