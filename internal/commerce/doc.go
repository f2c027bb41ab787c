// Package commerce groups selling: tenants as sellers (seller), products and stock (catalog),
// discount codes (discount), orders with their payments, refunds and disputes (order), auctions
// (auction), the usage that plans include (allowance), and the payment processor (processor, billing, and sandbox for development).
//
//   - A hold is a number of units that an open checkout or auction keeps from others.
//   - A checkout is a PENDING order with a payment page at the processor.
//   - A report is a message of the processor about a payment; billing stores it once and passes it on.
//
// The group may import base, tenancy, events and publications.
package commerce
