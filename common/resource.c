/* SPDX-License-Identifier: Apache-2.0 */
#include "common/resource.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"

/* ---- names */

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static bool has_native_domain(const char *name)
{
	return strstr(name, "kubernetes.io/") != NULL;
}

bool resource_name_is_hugepages(const char *name)
{
	return has_prefix(name, "hugepages-");
}

bool resource_name_is_native(const char *name)
{
	return !strchr(name, '/') || has_native_domain(name);
}

bool resource_name_is_numa_affine(const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "memory") || resource_name_is_hugepages(name);
}

bool resource_name_is_host_level(const char *name)
{
	return !strcmp(name, "ephemeral-storage") || !strcmp(name, "storage") ||
	       !resource_name_is_native(name);
}

bool resource_name_is_scalar(const char *name)
{
	bool extended = !resource_name_is_native(name) && !has_prefix(name, "requests."); /* a quota's name */

	return extended || resource_name_is_hugepages(name) || has_native_domain(name) ||
	       has_prefix(name, "attachable-volumes-");
}

void resource_name_of_hugepages(uint64_t page_bytes, char name[RESOURCE_NAME_HUGEPAGES_SIZE])
{
	struct quantity q = {.nano = (qty_t)page_bytes * QTY_UNIT, .format = QUANTITY_BINARY_SI};
	char size[QUANTITY_TEXT_MAX];

	quantity_print(q, size);
	snprintf(name, RESOURCE_NAME_HUGEPAGES_SIZE, "hugepages-%s", size);
}

/* ---- quantities */

__extension__ typedef unsigned __int128 uqty_t;

#define NANO_DIGITS 9
/* With an exponent of this size any number is out of range; larger exponents are capped. */
#define EXPONENT_MAX 1000000000

struct suffix {
	const char *text;
	int power; /* of ten, or of two */
};

static const struct suffix decimal_suffixes[] = {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6},
	{"G", 9}, {"T", 12}, {"P", 15}, {"E", 18}};
static const struct suffix binary_suffixes[] = {
	{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}};

/* The parts of a quantity's text: "-1.50Ki" is negative, has the digits "1" and "50", power 10, and is
 * binary. */
struct parts {
	bool negative;
	const char *whole, *fraction;
	size_t n_whole, n_fraction;
	enum quantity_format format;
	int power;
};

static bool find_suffix(const struct suffix *table, size_t count, const char *text, int *ret_power)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(table[i].text, text)) {
			*ret_power = table[i].power;
			return true;
		}
	}
	return false;
}

/* "e3", "E-3": parse the integer after the letter, capped at EXPONENT_MAX. */
static bool parse_exponent(const char *text, int *ret_power)
{
	const char *p = text + 1;
	bool negative = *p == '-';
	int power = 0;

	if (*p == '-' || *p == '+')
		p++;
	if (*p == '\0')
		return false;
	for (; isdigit((unsigned char)*p); p++)
		power = power >= EXPONENT_MAX / 10 ? EXPONENT_MAX : power * 10 + (*p - '0');
	*ret_power = negative ? -power : power;
	return *p == '\0';
}

static bool parse_suffix(const char *text, struct parts *ret)
{
	if (find_suffix(decimal_suffixes, ARRAY_SIZE(decimal_suffixes), text, &ret->power)) {
		ret->format = QUANTITY_DECIMAL_SI;
		return true;
	}
	if (find_suffix(binary_suffixes, ARRAY_SIZE(binary_suffixes), text, &ret->power)) {
		ret->format = QUANTITY_BINARY_SI;
		return true;
	}
	ret->format = QUANTITY_DECIMAL_EXPONENT;
	return (*text == 'e' || *text == 'E') && parse_exponent(text, &ret->power);
}

static size_t count_digits(const char *p)
{
	size_t n = 0;

	while (isdigit((unsigned char)p[n]))
		n++;
	return n;
}

static bool split_text(const char *text, struct parts *ret)
{
	const char *p = text;

	ret->negative = *p == '-';
	if (*p == '-' || *p == '+')
		p++;
	ret->whole = p;
	ret->n_whole = count_digits(p);
	p += ret->n_whole;
	if (*p == '.')
		p++;
	ret->fraction = p;
	ret->n_fraction = count_digits(p);
	p += ret->n_fraction;
	return ret->n_whole + ret->n_fraction > 0 && parse_suffix(p, ret);
}

/* *value = *value * factor + more; false on overflow of 128 bits. */
static bool multiply_add(uqty_t *value, uqty_t factor, uqty_t more)
{
	return !__builtin_mul_overflow(*value, factor, value) && !__builtin_add_overflow(*value, more, value);
}

/*
 * Decimal forms: move the decimal point right by the power and by the nine digits of a nano-unit. The digits
 * before the point are the value; a non-zero digit after the point rounds the value up.
 */
static bool decimal_magnitude(const struct parts *parts, uqty_t *ret)
{
	int64_t point = (int64_t)parts->n_whole + parts->power + NANO_DIGITS;
	int64_t n_digits = (int64_t)(parts->n_whole + parts->n_fraction);
	uqty_t value = 0;
	bool more = false;

	for (int64_t i = 0; i < n_digits; i++) {
		char c = i < (int64_t)parts->n_whole ? parts->whole[i]
						     : parts->fraction[i - (int64_t)parts->n_whole];

		if (i >= point)
			more = more || c != '0';
		else if (!multiply_add(&value, 10, (uqty_t)(c - '0')))
			return false;
	}
	/* Append zeros up to the point. 0 stays 0, even with an exponent of a billion. */
	for (int64_t i = n_digits; i < point && value > 0; i++)
		if (!multiply_add(&value, 10, 0))
			return false;
	*ret = value;
	return multiply_add(ret, 1, more);
}

/*
 * Binary forms: whole * unit + 0.fraction * unit. The fraction is processed from the last digit to the first,
 * so that one remainder bit is enough to round up exactly.
 */
static bool binary_magnitude(const struct parts *parts, uqty_t *ret)
{
	uqty_t unit = (uqty_t)QTY_UNIT << parts->power;
	uqty_t value = 0, part = 0;
	bool more = false;

	for (size_t i = 0; i < parts->n_whole; i++)
		if (!multiply_add(&value, 10, (uqty_t)(parts->whole[i] - '0')))
			return false;
	for (size_t i = parts->n_fraction; i > 0; i--) {
		part += unit * (unsigned)(parts->fraction[i - 1] - '0');
		more = more || part % 10 != 0;
		part /= 10;
	}
	if (!multiply_add(&value, unit, part + more))
		return false;
	*ret = value;
	return true;
}

int quantity_parse(const char *text, struct quantity *ret, struct err *err)
{
	const uqty_t binary_max = (uqty_t)INT64_MAX * (uqty_t)QTY_UNIT;
	struct parts parts = {0};
	uqty_t value = 0;
	bool fits;

	if (!split_text(text, &parts)) {
		size_t length = strlen(text);

		/* "5GB", "5gb" */
		if (length < 24 && isdigit((unsigned char)*text) && isalpha((unsigned char)text[length - 1]))
			return err_set(err, -EINVAL,
				"not a quantity: '%s'; units are as in 5k, 5M, 5G and 5Ki, 5Mi, 5Gi", text);
		return err_set(err, -EINVAL, "not a quantity: '%.100s'", text);
	}
	if (parts.format == QUANTITY_BINARY_SI) {
		fits = binary_magnitude(&parts, &value);
		if (!fits || value > binary_max)
			value = binary_max;
		else if (value > 0 && value < (uqty_t)QTY_UNIT)
			parts.format = QUANTITY_DECIMAL_SI; /* as the API: fractions have no binary text */
	} else {
		fits = decimal_magnitude(&parts, &value);
		if (!fits || value > (uqty_t)QTY_MAX)
			return err_set(err, -ERANGE, "quantity out of range: '%.100s'", text);
	}
	*ret = (struct quantity){
		.nano = parts.negative ? -(qty_t)value : (qty_t)value,
		.format = parts.format,
	};
	return 0;
}

/* Print decimal digits, most significant first, without a NUL. Returns the number of digits. */
static size_t print_digits(uqty_t value, char *out)
{
	char digits[40];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + (int)(value % 10));
		value /= 10;
	} while (value > 0);
	for (size_t i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	return n;
}

static bool prints_as_binary(struct quantity q)
{
	return q.format == QUANTITY_BINARY_SI && q.nano % QTY_UNIT == 0 &&
	       (q.nano >= 1024 * QTY_UNIT || q.nano <= -1024 * QTY_UNIT);
}

/* Print whole units with the largest suffix that leaves no fraction: 2048 as "2Ki". */
static void print_binary(uqty_t units, char *text, size_t size)
{
	size_t suffix = 0, n;

	for (; units % 1024 == 0 && suffix < ARRAY_SIZE(binary_suffixes); suffix++)
		units /= 1024;
	n = print_digits(units, text);
	snprintf(text + n, size - n, "%s", suffix > 0 ? binary_suffixes[suffix - 1].text : "");
}

/* Print nano-units with the largest suffix or exponent of ten that leaves no fraction: 1500000000 as "1500m". */
static void print_decimal(uqty_t value, enum quantity_format format, char *text, size_t size)
{
	int power = -NANO_DIGITS;
	size_t n;

	/* The largest decimal suffix is "E", 10^18; exponents have no limit. */
	while (value > 0 && value % 1000 == 0 && (power < 18 || format == QUANTITY_DECIMAL_EXPONENT)) {
		value /= 1000;
		power += 3;
	}
	n = print_digits(value, text);
	if (value == 0 || power == 0)
		text[n] = '\0';
	else if (format == QUANTITY_DECIMAL_EXPONENT)
		snprintf(text + n, size - n, "e%d", power);
	else
		/* The table begins at 10^-9, in steps of 10^3. */
		snprintf(text + n, size - n, "%s", decimal_suffixes[(power + NANO_DIGITS) / 3].text);
}

void quantity_print(struct quantity q, char text[QUANTITY_TEXT_MAX])
{
	uqty_t value = q.nano < 0 ? -(uqty_t)q.nano : (uqty_t)q.nano;
	size_t sign = q.nano < 0 ? 1 : 0; /* bytes */

	if (sign > 0)
		text[0] = '-';
	if (prints_as_binary(q))
		print_binary(value / (uqty_t)QTY_UNIT, text + sign, QUANTITY_TEXT_MAX - sign);
	else
		print_decimal(value, q.format, text + sign, QUANTITY_TEXT_MAX - sign);
}

qty_t qty_add(qty_t a, qty_t b)
{
	qty_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a > 0 ? QTY_MAX : -QTY_MAX;
	return sum < -QTY_MAX ? -QTY_MAX : sum;
}

qty_t qty_multiply(qty_t amount, uint64_t n)
{
	const qty_t limit = n > 0 ? QTY_MAX / (qty_t)n : QTY_MAX;

	if (amount > limit)
		return QTY_MAX;
	return amount < -limit ? -QTY_MAX : amount * (qty_t)n;
}

struct quantity quantity_add(struct quantity a, struct quantity b)
{
	return (struct quantity){
		.nano = qty_add(a.nano, b.nano),
		.format = a.nano == 0 ? b.format : a.format,
	};
}

static int64_t round_up(qty_t nano, qty_t unit)
{
	qty_t units = nano / unit;

	if (nano % unit != 0)
		units += nano > 0 ? 1 : -1;
	if (units > INT64_MAX)
		return INT64_MAX;
	return units < INT64_MIN ? INT64_MIN : (int64_t)units;
}

int64_t qty_value(qty_t nano)
{
	return round_up(nano, QTY_UNIT);
}

int64_t qty_milli_value(qty_t nano)
{
	return round_up(nano, QTY_UNIT / 1000);
}
