//! An HTTP handler that answers with constant bytes: what the server costs that the services are built on.

use actix_web::rt::System;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Result;

/// Answers every request so until killed, on as many threads as the services have: one for each core.
pub fn serve(port: u16, bytes: usize) -> Result<()> {
    let body = web::Bytes::from(vec![b'x'; bytes]);
    let server = HttpServer::new(move || {
        let body = body.clone();
        App::new().default_service(web::to(move || {
            let body = body.clone();
            async { HttpResponse::Ok().content_type("application/json").body(body) }
        }))
    });
    System::new().block_on(server.bind(("127.0.0.1", port))?.run())?;
    Ok(())
}
