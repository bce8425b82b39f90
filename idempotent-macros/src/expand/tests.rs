//! Three expansions, whole: what a user gets is what is read here.

use crate::attribute::idempotent;

fn expand(args: &str, item: &str) -> String {
    let args = args.parse().expect("tokens");
    let item = item.parse().expect("tokens");
    let expansion = idempotent(args, item).to_string();
    let file = syn::parse_file(&expansion).expect("items");
    prettyplease::unparse(&file)
}

#[test]
fn transactional() {
    insta::assert_snapshot!(expand(
        "key = \"invoice_<order_id>_<month>\", guard = invoiced(order_id), \
         unique = invoices(order_id, month), wait = 500ms, retain = 30d",
        "/// Invoices an order.
         pub async fn create_invoice(
             conn: &mut SqliteConnection, order_id: i64, month: Month, amount: u32,
         ) -> Result<InvoiceId, ShopError> {
             insert(&mut *conn, order_id, month, amount).await
         }",
    ));
}

#[test]
fn leased() {
    insta::assert_snapshot!(expand(
        "key = \"order_<order.id>\", guard = paid, skip_if = cancelled, existing = load_receipt, \
         reconcile = look_up, lease = 30s, key_window = forever, ignore(order)",
        "async fn charge_payment(
             job: &mut Job<'_, Sqlite>, gateway: &Gateway, order: &Order,
         ) -> anyhow::Result<Receipt> {
             gateway.charge(order.total, job.key()).await
         }",
    ));
}

#[test]
fn method() {
    insta::assert_snapshot!(expand(
        "key = \"tenant_<tenant>_<id>_<N>\", store = self.store, crate = crate::rt",
        "#[tracing::instrument(skip_all)]
         #[expect(clippy::unused_async)]
         pub(crate) async fn rename<'c, T: KeyPart, const N: usize>(
             &mut self,
             conn: &'c mut PgConnection,
             (tenant, mut id): (T, &u8),
             _note: String,
         ) -> Result<(), Error>
         where
             Self: Send,
         {
             id += 1;
             self.names.rename(conn, tenant, id).await
         }",
    ));
}
