//! An HTTP server with a constant response: the cost of actix alone.

use actix_web::rt::System;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::Result;

/// Serves responses of `bytes` bytes until the process is killed. Runs one thread for each core, as the services do.
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
