// Package commerce groups selling: tenants as sellers (seller), products and stock (catalog),
// discount codes (discount), orders with their payments, refunds and disputes (order), auctions (auction); and
// what tenants pay to the platform: subscriptions to plans with their invoices (subscription), the usage that plans
// include (allowance), and charges for the usage above it (overage). Both need the payment processor (processor,
// billing, and sandbox for development).
//
//   - A hold is a number of units that an open checkout or auction keeps from others.
//   - A checkout is a PENDING order with a payment page at the processor.
//   - A report of the processor is a message about a payment; billing stores it once and passes it on.
//   - A report to a meter of the processor is a charge for usage above the included one; overage sends it.
//   - The spend cap is the amount up to which a tenant is charged for that usage in a period.
//
// The group may import base, tenancy, events and publications.
package commerce
