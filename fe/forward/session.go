package forward

import (
	"strconv"

	"shoal/fe/literal"
	"shoal/fe/session"
	frontendv1 "shoal/proto/frontend/v1"
)

// encode is what a statement takes along of its session.
func encode(s *session.Session) *frontendv1.ForwardedSession {
	carried := s.Carry()
	return &frontendv1.ForwardedSession{
		ConnectionId: s.ID, User: s.User, Host: s.Host, Database: s.DB, RowCount: s.RowCount, FoundRows: s.FoundRows,
		Variables: encodeAll(carried.Variables), UserVariables: encodeAll(carried.UserVariables),
	}
}

// decode makes such a session here.
func decode(f *frontendv1.ForwardedSession, globals *session.Globals) *session.Session {
	s := session.New(f.GetConnectionId(), f.GetUser(), f.GetHost(), globals)
	s.DB, s.RowCount, s.FoundRows = f.GetDatabase(), f.GetRowCount(), f.GetFoundRows()
	s.Adopt(session.Carried{Variables: decodeAll(f.GetVariables()), UserVariables: decodeAll(f.GetUserVariables())})
	return s
}

// kinds are the kinds that variables have; others are text.
var kinds = map[literal.Kind]frontendv1.Variable_Kind{
	literal.KindNull: frontendv1.Variable_KIND_NULL, literal.KindInt: frontendv1.Variable_KIND_INT,
	literal.KindUint: frontendv1.Variable_KIND_UINT, literal.KindDecimal: frontendv1.Variable_KIND_DECIMAL,
}

func encodeAll(values map[string]literal.Value) []*frontendv1.Variable {
	out := make([]*frontendv1.Variable, 0, len(values))
	for name, v := range values {
		kind, ok := kinds[v.Kind()]
		if !ok {
			kind = frontendv1.Variable_KIND_STRING
		}
		out = append(out, &frontendv1.Variable{Name: name, Kind: kind, Text: []byte(v.Text())})
	}
	return out
}

func decodeAll(variables []*frontendv1.Variable) map[string]literal.Value {
	out := make(map[string]literal.Value, len(variables))
	for _, v := range variables {
		out[v.Name] = decodeValue(v.Kind, string(v.Text))
	}
	return out
}

// decodeValue reads a value; what is no number of its kind is text.
func decodeValue(kind frontendv1.Variable_Kind, text string) literal.Value {
	switch kind {
	case frontendv1.Variable_KIND_NULL:
		return literal.Null()
	case frontendv1.Variable_KIND_INT:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return literal.Int(n)
		}
	case frontendv1.Variable_KIND_UINT:
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return literal.Uint(n)
		}
	case frontendv1.Variable_KIND_DECIMAL:
		if v, err := literal.Decimal(text); err == nil {
			return v
		}
	}
	return literal.String(text)
}
