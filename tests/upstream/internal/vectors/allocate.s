// SPDX-License-Identifier: Apache-2.0
// This file lets the compiler accept a function without a body (see allocate.go).
